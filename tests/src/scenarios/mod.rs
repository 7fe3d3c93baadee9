//! What the client has to show on every runtime, once.
//!
//! Each chapter is a file, each scenario a public function in it, which names the rows that it
//! checks. [`scenario_tests!`](crate::scenario_tests) makes a test of each of them for a runtime.
//!
//! A server is a [`Script`] ([`Stage::play`], [`Stage::launch`]) or the demo server. Over stdio it is
//! a process, or pipes of 64 bytes in memory; over HTTP the same script is played behind a bridge,
//! and the demo server listens itself. A scenario that is about processes, lines, or one stream that
//! keeps the order of all messages has the mark `#[stdio]` in the list below, and one about exchanges
//! has `#[http]`, with an [`HttpScript`](crate::script::HttpScript) as its server; every other one
//! is played on both.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use std::sync::{Mutex, PoisonError};

use mcp_proto::{Error, Target};
use mcp_runtime_common::IntoTarget;
use tempfile::TempDir;

use crate::client::{Client, Runtime, Setup};
use crate::demo::{HttpDemo, http_options};
use crate::logs;
use crate::script::{Playing, Program, Script};

/// How long a scenario may take before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(180);

/// A pipe that holds less than any message does.
const PIPE: usize = 64;

/// Where the programs are: an integration test knows.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// `demo`
    pub demo: &'static str,
    /// `scripted`
    pub scripted: &'static str,
}

/// How the servers of a scenario are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// A process, or pipes in memory.
    Stdio,
    /// Streamable HTTP.
    Http,
}

/// Where a scenario takes place.
#[derive(Debug)]
pub struct Stage {
    /// On what its client runs.
    pub runtime: Runtime,
    /// How its servers are reached.
    pub over: Over,
    /// The programs it can launch.
    pub programs: Programs,
    /// Servers that the scenario does not hold itself.
    held: Mutex<Vec<Held>>,
}

/// A server that listens until the end of the scenario.
#[derive(Debug)]
#[allow(dead_code, reason = "what they do is listen")]
enum Held {
    Demo(HttpDemo),
    Play(Playing),
}

/// Performs a scenario. One that hangs is a failure.
pub fn perform(runtime: Runtime, over: Over, programs: Programs, scenario: fn(&Stage)) {
    logs::collect();
    let (done, finished) = channel::<()>();
    let stage = Stage { runtime, over, programs, held: Mutex::default() };
    let thread = thread::spawn(move || {
        scenario(&stage);
        drop(done);
    });
    match finished.recv_timeout(LIMIT) {
        Err(RecvTimeoutError::Timeout) => panic!("it still goes on after {LIMIT:?}"),
        _ => {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
    }
}

impl Stage {
    fn hold(&self, server: Held) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(server);
    }

    /// A client of a script that is played in this process.
    pub fn play(&self, script: Script) -> (Client, Playing) {
        self.play_with(script, Setup::new())
    }

    /// The same, with settings.
    #[track_caller]
    pub fn play_with(&self, script: Script, setup: Setup) -> (Client, Playing) {
        match self.try_play(script, setup) {
            (Ok(client), playing) => (client, playing),
            (Err(error), playing) => panic!("{error}; the server saw {:?}", playing.finish()),
        }
    }

    /// The same, where the connection may fail.
    pub fn try_play(&self, script: Script, setup: Setup) -> (Result<Client, Error>, Playing) {
        self.try_play_through(PIPE, script, setup)
    }

    /// The same, where a pipe has room for so many bytes.
    pub fn try_play_through(
        &self,
        pipe: usize,
        script: Script,
        setup: Setup,
    ) -> (Result<Client, Error>, Playing) {
        match self.over {
            Over::Stdio => {
                let (stream, playing) = script.over_pipe(pipe);
                (Client::over(self.runtime, stream, setup), playing)
            }
            Over::Http => {
                let (url, playing) = script.over_http();
                (Client::connect(self.runtime, url, setup), playing)
            }
        }
    }

    /// A client of a command line or a URL.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn connect(&self, target: impl IntoTarget, setup: Setup) -> Result<Client, Error> {
        Client::connect(self.runtime, target, setup)
    }

    /// A client of a script that nobody watches: over stdio a process plays it.
    #[track_caller]
    pub fn launch(&self, script: Script, setup: Setup) -> Client {
        let client = match self.over {
            Over::Stdio => self.connect(self.program(script).argv(), setup),
            Over::Http => {
                let (url, playing) = script.over_http();
                self.hold(Held::Play(playing));
                self.connect(url, setup)
            }
        };
        client.expect("a server that can be spoken with")
    }

    /// A process that plays a script.
    pub fn program(&self, script: Script) -> Program {
        Program::new(self.programs.scripted, script)
    }

    /// A command line that plays one script when it is run for the first time, and another one
    /// ever after. What makes the difference is in the folder.
    pub fn one_after_the_other(&self, first: Script, then: Script) -> (Vec<String>, TempDir) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let [first, then] = [first, then].map(|script| self.program(script).line());
        let shell = format!("mkdir once 2>&- && exec {first} || exec {then}");
        let mut argv = vec!["sh".to_owned(), "-c".to_owned()];
        let once = folder.path().join("once");
        argv.push(shell.replacen("once", &once.to_string_lossy(), 1));
        (argv, folder)
    }

    /// The demo server: its command line, or its URL.
    pub fn demo(&self, arguments: &[&str]) -> Target {
        let target = match self.over {
            Over::Stdio => {
                let mut argv = vec![self.programs.demo.to_owned(), "stdio".to_owned()];
                argv.extend(arguments.iter().map(|word| (*word).to_owned()));
                argv.into_target()
            }
            Over::Http => {
                let options = http_options(arguments).expect("arguments of the demo server");
                let demo = HttpDemo::start(options).expect("a loopback address");
                let url = demo.url().to_owned();
                self.hold(Held::Demo(demo));
                url.into_target()
            }
        };
        target.expect("what can be connected to")
    }
}

/// Leaves out what is marked as being about the other transport.
#[doc(hidden)]
#[macro_export]
macro_rules! unless_marked {
    (Http stdio, $($test:tt)*) => {};
    (Stdio http, $($test:tt)*) => {};
    ($over:ident $($mark:ident)?, $($test:tt)*) => { $($test)* };
}

/// The chapters and their scenarios. The first argument is a dollar sign, for the macro inside.
macro_rules! chapters {
    ($d:tt $($chapter:ident: $($(#[$mark:ident])? $scenario:ident)*;)*) => {
        $(pub mod $chapter;)*

        /// Makes a test of each scenario that is played over this transport, in a module for each
        /// chapter: `scenario_tests!(Runtime::Blocking, Stdio);`. The module around it has
        /// `PROGRAMS`.
        #[macro_export]
        macro_rules! scenario_tests {
            ($d runtime:expr, $d over:ident) => {$(
                mod $chapter {
                    $(
                        $d crate::unless_marked! {
                            $d over $($mark)?,
                            #[test]
                            fn $scenario() {
                                $d crate::scenarios::perform(
                                    $d runtime,
                                    $d crate::scenarios::Over::$d over,
                                    super::PROGRAMS,
                                    $d crate::scenarios::$chapter::$scenario,
                                );
                            }
                        }
                    )*
                }
            )*};
        }

        #[cfg(test)]
        const LISTED: &[(&str, &str, &[&str])] = &[$((
            stringify!($chapter),
            include_str!(concat!(stringify!($chapter), ".rs")),
            &[$(stringify!($scenario)),*],
        )),*];
    };
}

chapters! { $
    conversation:
        a_modern_server
        a_legacy_server
        each_legacy_revision
        either_era_when_forced
        pages_are_joined
        methods_of_the_hosts_choice;
    stdio:
        #[stdio] banner_lines_are_skipped
        #[stdio] bytes_that_are_no_text_are_skipped
        #[stdio] blank_lines_are_nothing
        #[stdio] a_byte_order_mark_and_crlf_are_tolerated
        each_message_is_one_line
        #[stdio] a_server_may_flood_its_stderr
        #[stdio] stderr_is_captured_or_dropped_as_the_host_says
        #[stdio] arguments_reach_the_server_as_they_are
        #[stdio] the_environment_and_the_folder_are_the_hosts_to_choose
        #[stdio] secrets_and_payloads_are_in_no_log
        deep_nesting_fails_its_message_at_most
        #[stdio] a_program_that_is_not_there_is_named
        targets_and_settings_that_cannot_work_are_refused;
    jsonrpc:
        ids_match_however_they_are_spelled
        unknown_notifications_are_nothing
        batches_of_old_servers_are_taken_apart
        #[stdio] pings_are_answered_in_every_state
        missing_members_are_no_failure
        ids_of_the_server_are_given_back_as_they_came
        a_modern_server_may_not_ask
        #[stdio] answers_to_nothing_are_discarded
        what_a_server_calls_itself_changes_nothing
        metadata_of_the_host_goes_along;
    results:
        null_counts_as_absent
        results_of_every_shape
        unknown_content_is_kept_beside_the_known
        failures_keep_what_the_server_said
        codes_mean_what_the_specification_says
        a_missing_capability_is_named_and_nothing_is_sent_again;
    era:
        any_other_error_means_legacy
        answers_that_are_no_discovery_mean_legacy
        #[stdio] silence_means_legacy
        #[stdio] the_first_usable_answer_decides
        an_initialize_result_that_cannot_be_spoken_ends_the_connection
        nothing_modern_leaks_into_a_legacy_session
        a_refused_version_is_asked_for_once_more
        versions_in_common_are_chosen
        without_a_version_in_common_the_lists_are_told
        a_forced_era_is_not_left
        #[stdio] what_a_server_asks_before_its_era_is_known_is_held
        every_modern_request_carries_its_metadata
        identity_goes_along_unless_switched_off
        a_ping_is_what_the_era_has_for_it
        a_modern_server_may_stay_anonymous
        #[stdio] a_server_that_dies_of_the_probe_is_greeted_as_legacy;
    lifecycle:
        #[stdio] a_server_that_was_killed_is_replaced_by_the_next_call
        #[stdio] what_was_sent_to_a_server_that_died_is_lost
        #[stdio] an_exit_is_told_with_its_status_and_last_words
        #[stdio] a_server_that_dies_in_its_start_is_told_at_once
        #[stdio] a_start_that_takes_too_long_leaves_nothing
        #[stdio] a_server_that_closes_its_output_has_ended
        #[stdio] a_server_that_reads_no_more_fails_its_calls
        #[stdio] a_server_is_ended_step_by_step
        #[stdio] nothing_is_left_of_a_server_behind_a_shell
        #[stdio] a_grandchild_that_keeps_the_pipes_open_holds_up_nobody
        closing_is_final_and_does_no_harm_twice
        #[stdio] a_rest_ends_the_process_and_the_next_call_begins_another
        #[stdio] a_stream_that_ends_is_not_connected_anew;
    time:
        a_call_that_times_out_is_given_up_and_never_sent_again
        an_error_of_the_clients_own_has_no_code
        every_method_has_a_timeout_and_each_call_may_have_its_own
        no_part_of_a_start_is_cancelled
        a_call_that_is_dropped_is_cancelled_once
        cancelling_ends_the_call_with_an_error
        answers_and_cancellations_may_cross
        #[stdio] a_call_is_cancelled_although_the_server_does_not_read;
    pages:
        a_cursor_that_comes_again_ends_the_list
        an_endless_list_is_given_up
        the_bytes_of_a_list_are_bounded
        an_empty_cursor_is_a_cursor
        a_cursor_goes_back_as_it_came
        pages_have_any_size
        a_page_of_the_wrong_shape_is_an_error
        every_member_of_a_tool_is_there
        a_tool_says_whether_it_can_be_a_task
        schemas_survive_as_they_are
        a_malformed_tool_costs_itself
        a_call_carries_its_name_and_arguments;
    offers:
        prompts_are_listed_and_got
        resources_are_listed_and_read
        a_resource_that_is_not_there_is_named
        arguments_are_completed_where_that_is_offered
        an_offer_that_is_stale_is_asked_for_again
        the_logging_level_is_told
        several_calls_end_in_their_order;
    progress:
        a_callback_is_told_all_of_it
        what_comes_before_a_result_is_shown_before_it
        each_call_has_a_token_of_its_own
        a_token_of_the_hosts_is_kept
        a_callback_that_panics_does_not_fail_its_call;
    handlers:
        metadata_is_computed_for_each_request
        a_handler_of_metadata_may_call_the_client
        a_handler_of_elicitations_may_call_the_client
        without_a_handler_nothing_is_declared_and_nothing_answered
        what_goes_wrong_in_a_handler_stays_there
        nothing_private_leaves_through_errors_and_logs
        metadata_that_cannot_be_had_fails_its_call_alone
        a_call_that_waits_for_its_handler_is_cancelled_without_a_word
        a_slow_handler_holds_up_nothing_else;
    notifications:
        every_callback_is_told_of_everything
        a_callback_may_call_the_client
        a_callback_that_panics_or_stalls_holds_up_nothing
        #[stdio] what_came_before_the_end_is_shown
        #[stdio] what_has_no_room_is_counted
        #[http] the_get_stream_is_opened_for_them
        #[http] a_message_has_the_call_of_its_stream;
    questions:
        a_tool_may_ask_before_it_answers
        a_call_goes_on_from_its_error
        a_page_is_visited_with_the_users_consent
        the_hosts_model_answers_a_legacy_server
        a_prompt_and_a_resource_may_ask
        the_hosts_model_is_asked_as_often_as_the_host_wants
        roots_are_told_to_whoever_asks
        the_host_says_how_to_wait;
    deprecated:
        a_host_is_told_once_of_each_feature
        a_host_is_told_of_messages_that_it_did_not_ask_for
        features_work_whatever_becomes_of_their_notices;
    concurrency:
        sixty_four_calls_over_a_pipe_of_64_bytes
        sixty_four_calls_to_a_process
        calls_that_were_begun_find_their_answers_in_any_order
        every_large_answer_arrives_while_others_are_asked_for
        a_thousand_requests_have_a_thousand_ids
        large_messages_cross_without_a_deadlock
        #[stdio] a_death_in_the_middle_ends_every_call
        #[stdio] calls_go_on_while_the_server_is_killed_again_and_again
        many_calls_meet_a_rest
        #[stdio] a_stream_carries_what_a_process_is_told;
    limits:
        an_answer_that_is_too_long_fails_its_call_alone
        #[stdio] an_id_at_the_end_of_a_long_line_is_found
        #[stdio] a_long_line_without_an_id_is_told_in_the_text_of_a_timeout
        sixty_four_mebibytes_are_the_default_bound;
    floods:
        #[stdio] pings_wait_while_nobody_reads_their_answers
        a_stalled_callback_stalls_its_own_call_only;
    exchanges:
        #[http] a_notification_may_be_taken_in_any_way
        #[http] the_end_of_the_handshake_may_be_lost_once
        #[http] media_types_count_without_case_and_parameters
        #[http] redirects_within_the_origin_are_followed
        #[http] redirects_that_change_the_method_are_told
        #[http] nothing_follows_a_redirect_to_another_origin
        #[http] a_tool_whose_connection_closes_under_it_is_called_once
        #[http] a_list_whose_connection_closes_under_it_is_asked_for_again
        #[http] a_call_that_is_silent_after_its_head_times_out
        #[http] the_end_of_a_session_may_be_answered_in_any_way
        #[http] compressed_answers_are_read_and_bombs_are_not
        #[http] localhost_is_found_on_either_family
        #[http] names_that_no_header_can_carry_are_encoded
        #[http] what_intermediaries_read_stands_beside_each_request
        #[http] a_modern_server_meets_no_session
        #[http] a_result_under_a_foreign_id_ends_its_call
        #[http] a_modern_stream_that_breaks_is_asked_for_once_more;
    events:
        #[http] streams_are_read_as_the_standard_says
        #[http] a_stream_may_come_byte_by_byte
        #[http] fifty_thousand_events_that_mean_nothing_are_skipped
        #[http] an_event_without_an_end_is_given_up
        #[http] a_last_event_without_its_end_counts_if_it_is_whole
        #[http] what_comes_on_a_stream_is_shown_at_once
        #[http] the_get_stream_need_not_be_offered
        #[http] a_get_stream_that_ends_at_once_is_opened_ever_more_slowly
        #[http] what_a_server_asks_on_the_get_stream_is_answered;
    parameters:
        #[http] arguments_stand_in_headers
        #[http] a_refusal_of_headers_lists_the_tools_and_calls_once_more
        #[http] tools_with_invalid_annotations_are_left_out
        #[stdio] without_headers_annotations_mean_nothing
        #[http] arguments_that_cannot_be_sent_are_told_at_once;
    resume:
        #[http] an_answer_that_breaks_off_goes_on
        #[http] a_rest_that_breaks_off_goes_on
        #[http] a_rest_that_cannot_be_had_fails_its_call_alone
        #[http] each_answer_has_its_own_rest;
    probes:
        #[http] whatever_no_modern_server_says_means_legacy
        #[http] a_server_that_wants_authorization_has_not_said_what_it_speaks
        #[http] an_outage_is_no_sign_of_an_era
        #[http] when_everything_fails_each_attempt_is_told
        #[http] a_new_session_is_asked_for_without_the_old_one
        #[http] calls_wait_for_the_end_of_the_handshake;
    older:
        #[http] answers_come_on_the_stream
        #[http] the_end_of_the_stream_ends_its_calls
        #[http] an_address_elsewhere_is_refused
        #[http] an_old_server_is_found
        #[http] plain_http_is_tried_last;
    connections:
        #[http] a_thousand_calls_take_one_connection
        #[http] a_session_is_ended_with_its_client
        #[http] a_private_authority_is_trusted_when_it_is_named;
}

#[cfg(test)]
mod tests {
    use super::LISTED;

    /// A scenario that is not listed would count as a test, and never run.
    #[test]
    fn every_scenario_is_listed() {
        for (chapter, text, listed) in LISTED {
            let heads = text.lines().filter_map(|line| line.strip_prefix("pub fn "));
            let names: Vec<_> = heads.filter_map(|head| head.split('(').next()).collect();
            assert_eq!(names, *listed, "{chapter}");
        }
    }
}
