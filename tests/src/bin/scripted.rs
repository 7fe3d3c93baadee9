//! A server that plays a script: `scripted --inline JSON`.

fn main() {
    let args = std::env::args_os().skip(1);
    mcp_tests::script::main(args.map(|arg| arg.to_string_lossy().into_owned()))
}
