/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each option does with its argument. Each returns 0 or -errno with a message. */
#ifndef MTRACE_APP_CLI_OPTION_SETTERS_H
#define MTRACE_APP_CLI_OPTION_SETTERS_H

#include "app/cli/option_row.h"
#include "app/cli/options.h"

typedef int option_setter(struct options *options, const struct option_row *row,
			  const char *argument, struct error *err);

option_setter set_no_cpp, set_follow, set_hold_exec, set_interactive, set_system, set_scan,
	set_sanity, set_long, set_debuginfod, set_quiet, set_help, set_version, set_wait,
	set_end_trace, set_listen, set_token_file, set_tls_cert, set_tls_key, set_tls_ca,
	set_prometheus, set_prometheus_file, set_prometheus_auth, set_prometheus_tls,
	set_prometheus_host, set_comm, set_exe, set_cgroup, set_output, set_record, set_sysroot,
	set_user, set_directory, set_verbose, set_uid, set_follow_exec, set_pid, set_depth,
	set_stack, set_backend, set_pairing, set_color, set_only, set_config, set_omit, set_binpath,
	set_allocator, set_sort, set_top, set_ignore, set_suppressions, set_format, set_scan_every,
	set_interval, set_count, set_keep, set_output_mode, set_scan_stop, set_scan_live,
	set_scan_swapped, set_align, set_error_exitcode, set_leak_kinds, set_buffer, set_sample,
	set_gates, set_max_overhead, set_abort_over, set_max_memory, set_min_size, set_max_size,
	set_port, set_prometheus_sites, set_prometheus_processes, set_backlog, set_checkpoint,
	set_reconnect;

#endif
