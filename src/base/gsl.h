/* GSL tells errors by a handler that the whole process shares, and that ends the process unless it is off. */
#pragma once

/* Between the two, GSL's functions return their errors instead. Any threads, any number of times: the handler that
 * was there comes back when the last of them is through. */
void ss_gsl_errors_off(void);
void ss_gsl_errors_back(void);
/* SPDX-License-Identifier: Apache-2.0 */
