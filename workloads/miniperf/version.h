// SPDX-License-Identifier: Apache-2.0
#ifndef MINIPERF_VERSION_H
#define MINIPERF_VERSION_H
#define MINIPERF_VERSION "miniperf 1.0"
#endif
