//! Which proxy a server is reached through, by the environment and by the settings.

use mcp_runtime_common::proto::ErrorKind;
use mcp_runtime_common::{ClientOptions, Proxies, ProxyChoice};

/// Proxies by these variables.
fn variables(all: &[(&str, &str)]) -> Proxies {
    Proxies::from_variables(|name| {
        all.iter().find(|(n, _)| *n == name).map(|(_, value)| String::from(*value))
    })
}

/// `host:port` of the proxy for this address, or `-` for none.
fn found(proxies: &Proxies, url: &str) -> String {
    match proxies.find_for(url).unwrap() {
        Some(proxy) => format!("{}:{}", proxy.host, proxy.port),
        None => String::from("-"),
    }
}

#[test]
fn each_scheme_has_its_variable_and_both_a_common_one() {
    let all = [("HTTPS_PROXY", "http://s:1"), ("HTTP_PROXY", "h:2"), ("ALL_PROXY", "a:3")];
    let both = |vars: &[(&str, &str)]| {
        let proxies = variables(vars);
        [found(&proxies, "https://x.test"), found(&proxies, "http://x.test")]
    };
    assert_eq!(both(&all), ["s:1", "h:2"]);
    assert_eq!(both(&all[..1]), ["s:1", "-"]);
    assert_eq!(both(&all[2..]), ["a:3", "a:3"]);
    assert_eq!(both(&[("https_proxy", "l:4"), all[0], all[1]]), ["l:4", "h:2"]);
    assert_eq!(both(&[("HTTPS_PROXY", " "), all[2]]), ["a:3", "a:3"], "empty is absent");
    assert_eq!(both(&[]), ["-", "-"]);
    // A CGI program's variables are its caller's.
    assert_eq!(both(&[("REQUEST_METHOD", "GET"), all[0], all[1]]), ["s:1", "-"]);
    assert_eq!(both(&[("REQUEST_METHOD", "GET"), ("http_proxy", "l:4")]), ["-", "l:4"]);
}

#[test]
fn the_loopback_interface_needs_no_proxy_unless_the_host_says_so() {
    let own = ProxyChoice::from("http://own:9").proxies();
    let env = variables(&[("HTTP_PROXY", "p:1"), ("HTTPS_PROXY", "p:1")]);
    for host in ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.8.9.1", "[::1]"] {
        let url = format!("http://{host}:8080/mcp");
        assert_eq!(found(&env, &url), "-", "{url}");
        assert_eq!(found(&own, &url), "own:9", "{url}");
    }
    assert_eq!(found(&env, "http://[::ffff:127.0.0.1]/"), "-");
    for host in ["localhost.test", "mylocalhost", "128.0.0.1", "[::2]"] {
        assert_eq!(found(&env, &format!("http://{host}/")), "p:1", "{host}");
    }
    assert_eq!(found(&ProxyChoice::Direct.proxies(), "https://x.test"), "-");
}

#[test]
fn no_proxy_names_hosts_domains_networks_and_ports() {
    let table = [
        // The list, who is covered, and who is not.
        (
            "example.com",
            "example.com a.b.example.com EXAMPLE.com example.com.",
            "myexample.com com",
        ),
        (" a.test ,\tb.test,,", "a.test b.test x.b.test", "c.test"),
        ("a.test b.test", "a.test b.test", "c.test"),
        (".example.com", "a.example.com", "example.com"),
        ("*.example.com", "a.example.com", "example.com"),
        ("example.com:8443", "example.com:8443 a.example.com:8443", "example.com example.com:80"),
        ("*", "x.test 10.1.2.3 [fd00::1]:99", ""),
        ("10.0.0.0/8", "10.1.2.3 [::ffff:10.1.2.3]", "11.1.2.3 ten.test"),
        ("10.1.2.3", "10.1.2.3", "10.1.2.4 10.1.2.3.test"),
        ("10.1.2.3:81", "10.1.2.3:81", "10.1.2.3:80"),
        ("fd00::/8", "[fd00::1] [fdff::1]:99", "[fe00::1]"),
        ("fd00::1", "[fd00::1]", "[fd00::2]"),
        ("[fd00::1]:81", "[fd00::1]:81", "[fd00::1]"),
        ("::ffff:10.0.0.0/104", "10.1.2.3", "11.1.2.3"),
        ("0.0.0.0/0", "1.2.3.4", "[fd00::1] x.test"),
        ("10.0.0.0/33, x.test:port, :, ., *., /8", "", "10.1.2.3 x.test"),
        ("b\u{fc}cher.test", "", "x.test"),
    ];
    for (list, covered, not) in table {
        let proxies = variables(&[("HTTP_PROXY", "p:1"), ("NO_PROXY", list)]);
        for host in covered.split(' ').filter(|host| !host.is_empty()) {
            assert_eq!(found(&proxies, &format!("http://{host}/")), "-", "{list:?} {host}");
        }
        for host in not.split(' ').filter(|host| !host.is_empty()) {
            assert_eq!(found(&proxies, &format!("http://{host}/")), "p:1", "{list:?} {host}");
        }
    }
    let lower = [("HTTP_PROXY", "p:1"), ("NO_PROXY", "a.test"), ("no_proxy", "b.test")];
    assert_eq!(found(&variables(&lower), "http://a.test"), "p:1");
    assert_eq!(found(&variables(&lower), "http://b.test"), "-");
}

#[test]
fn a_login_is_decoded_and_shown_to_nobody() {
    let proxies = variables(&[("HTTPS_PROXY", "http://us%20er:p%40ss%zz@[fd00::5]:3128/")]);
    let proxy = proxies.find(true, "x.test", 443).unwrap().unwrap();
    assert_eq!((&*proxy.host, proxy.port), ("fd00::5", 3128));
    assert_eq!(proxy.login, Some((String::from("us er"), String::from("p@ss%zz"))));
    assert_eq!(proxy.authorization().unwrap(), "Basic dXMgZXI6cEBzcyV6eg==");
    let shown = format!("{proxies:?} {proxy:?} {:?}", ProxyChoice::from("http://u:s3cret@x"));
    assert!(!shown.contains("ss%") && !shown.contains("s3cret"), "{shown}");
    assert_eq!(found(&variables(&[("HTTPS_PROXY", "http://p.test")]), "https://x"), "p.test:80");
}

#[test]
fn a_proxy_that_cannot_be_used_is_not_passed_by() {
    for url in ["socks5://p:1", "socks4a://p:1", "https://p:1", "ftp://p:1", "http://", "p:port"] {
        let proxies = variables(&[("HTTPS_PROXY", url), ("NO_PROXY", "direct.test")]);
        let error = proxies.find(true, "x.test", 443).unwrap_err().to_string();
        assert!(error.contains("HTTPS_PROXY"), "{error}");
        // Whom it does not concern it does not hold up.
        assert_eq!(found(&proxies, "https://direct.test"), "-");
        assert_eq!(found(&proxies, "http://x.test"), "-");
        let error = ClientOptions::new().proxy(url).hub("http://x.test").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{url}: {error}");
    }
    let secret = variables(&[("HTTPS_PROXY", "socks5://u:s3cret@p:1")]);
    let error = secret.find(true, "x.test", 443).unwrap_err().to_string();
    assert!(error.contains("SOCKS") && !error.contains("s3cret"), "{error}");
}
