//! The operations behind the host object; `host.js` gives them their names there.

mod clock;
mod digest;
mod encode;
mod frames;
mod io;
mod process;
mod url;

pub use process::Idle;

deno_core::extension!(
    mayfly_guest,
    ops = [
        clock::op_mayfly_real_ms,
        clock::op_mayfly_monotonic_ms,
        digest::op_mayfly_digest,
        encode::op_mayfly_atob,
        encode::op_mayfly_btoa,
        encode::op_mayfly_decode_utf8,
        encode::op_mayfly_decoder_free,
        encode::op_mayfly_decoder_new,
        encode::op_mayfly_decoder_push,
        encode::op_mayfly_encode,
        encode::op_mayfly_encode_into,
        encode::op_mayfly_encoding_name,
        frames::op_mayfly_hear,
        frames::op_mayfly_keep_header,
        frames::op_mayfly_receive,
        frames::op_mayfly_say,
        frames::op_mayfly_send_bytes,
        frames::op_mayfly_send_kept,
        frames::op_mayfly_send_text,
        io::op_mayfly_log,
        process::op_mayfly_define_module,
        process::op_mayfly_entropy,
        process::op_mayfly_exit,
        process::op_mayfly_memory_limit,
        process::op_mayfly_on_idle,
        process::op_mayfly_settle_base,
        process::op_mayfly_settle_program,
        process::op_mayfly_variables,
        url::op_mayfly_format_query,
        url::op_mayfly_parse_query,
        url::op_mayfly_parse_url,
        url::op_mayfly_set_url,
    ],
    state = |state| state.put(frames::Frames::default()),
);
