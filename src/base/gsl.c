#include "base/gsl.h"

#include <gsl/gsl_errno.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;
static gsl_error_handler_t *before;

void ss_gsl_errors_off(void) {
  pthread_mutex_lock(&lock);
  if (users++ == 0) before = gsl_set_error_handler_off();
  pthread_mutex_unlock(&lock);
}

void ss_gsl_errors_back(void) {
  pthread_mutex_lock(&lock);
  if (--users == 0) (void)gsl_set_error_handler(before);
  pthread_mutex_unlock(&lock);
}
/* SPDX-License-Identifier: Apache-2.0 */
