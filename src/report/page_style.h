#ifndef SS_REPORT_PAGE_STYLE_H
#define SS_REPORT_PAGE_STYLE_H

/* For a <style> element. */
extern const char ss_page_style[];

#endif
