import { describe, expect, it } from "vitest";
import { exceptingLoopback, networkProxyOf } from "../../../src/operations/http/network-proxy.ts";

const corporate = "http://proxy.example:8080";
const routeOf = (target: string, environment: Readonly<Record<string, string>>) => {
	const proxy = networkProxyOf(new URL(target), environment);
	return proxy && `${proxy.variable} ${proxy.url.href}`;
};

describe("the proxy that leads to an address", () => {
	it.each([
		["https://api.example", {}, undefined],
		["https://api.example", { HTTPS_PROXY: corporate }, "HTTPS_PROXY http://proxy.example:8080/"],
		[
			"https://api.example",
			{ https_proxy: corporate, HTTPS_PROXY: "http://x" },
			"https_proxy http://proxy.example:8080/",
		],
		["https://api.example", { https_proxy: "", HTTPS_PROXY: corporate }, "HTTPS_PROXY http://proxy.example:8080/"],
		["https://api.example", { HTTP_PROXY: corporate }, "HTTP_PROXY http://proxy.example:8080/"],
		["http://api.example", { HTTP_PROXY: corporate }, "HTTP_PROXY http://proxy.example:8080/"],
		["http://api.example", { HTTPS_PROXY: corporate }, undefined],
		["https://api.example", { HTTPS_PROXY: "https://proxy.example" }, "HTTPS_PROXY https://proxy.example/"],
		["https://api.example", { HTTPS_PROXY: "proxy.example:8080" }, "HTTPS_PROXY http://proxy.example:8080/"],
		["http://127.0.0.1:4000", { HTTP_PROXY: corporate }, undefined],
		["https://localhost:4000", { HTTPS_PROXY: corporate }, undefined],
		["https://[::1]:4000", { HTTPS_PROXY: corporate }, undefined],
	])("of %s with %j is %s", (target, environment, expected) => {
		expect(routeOf(target, environment as Record<string, string>)).toBe(expected);
	});

	it.each([
		["api.example", "https://api.example", true],
		["API.Example", "https://api.example", true],
		["example", "https://api.example", true],
		[".example", "https://api.example", true],
		["*.example", "https://api.example", true],
		["*", "https://api.example", true],
		["a.test, *", "https://api.example", true],
		["a.test b.test,api.example", "https://api.example", true],
		["api.example:443", "https://api.example", true],
		["api.example:443", "https://api.example:8443", false],
		["api.example:80", "http://api.example", true],
		["ample", "https://api.example", false],
		["pi.example", "https://api.example", false],
		["api.example.test", "https://api.example", false],
		["", "https://api.example", false],
		[",", "https://api.example", false],
		["10.1.2.3", "http://10.1.2.3:4000", true],
		["10.1.2.3:4000", "http://10.1.2.3:4000", true],
		["10.0.0.0/8", "http://10.1.2.3:4000", true],
		["10.2.0.0/16", "http://10.1.2.3:4000", false],
		["10.0.0.0/99", "http://10.1.2.3:4000", false],
		["10.0.0.0/", "http://10.1.2.3:4000", false],
		["3", "http://10.1.2.3:4000", false],
		["2001:db8::1", "https://[2001:DB8::1]", true],
		["[2001:db8::1]:443", "https://[2001:db8::1]", true],
		["2001:db8::/32", "https://[2001:db8::1]", true],
		["10.0.0.0/8", "https://[2001:db8::1]", false],
	])("is left out with NO_PROXY %j for %s: %s", (list, target, isDirect) => {
		const proxies = { HTTP_PROXY: corporate, HTTPS_PROXY: corporate };
		for (const name of ["NO_PROXY", "no_proxy"])
			expect(routeOf(target, { ...proxies, [name]: list }) === undefined).toBe(isDirect);
	});

	it("has its user and password apart from its address", () => {
		const of = (value: string) => networkProxyOf(new URL("https://api.example"), { HTTPS_PROXY: value });
		const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
		expect(of("http://joe:p%40ss%25w@proxy.example:8080")?.authorization).toBe(basic("joe:p@ss%w"));
		expect(of("joe:pass@proxy.example:8080")?.authorization).toBe(basic("joe:pass"));
		expect(of("http://joe:100%@proxy.example")?.authorization).toBe(basic("joe:100%"));
		expect(of("http://joe@proxy.example")?.authorization).toBe(basic("joe:"));
		expect(of("http://joe:p%40ss@proxy.example:8080")?.url.href).toBe("http://proxy.example:8080/");
		expect(of(corporate)?.authorization).toBeUndefined();
	});

	it.each([
		"socks5://joe:pa55@proxy.example",
		"http://joe:12#pa55@proxy.example",
		"http://joe:pa55/x@proxy.example",
		"::",
	])("refuses %j without quoting it, but not where it is left out", (value) => {
		const environment = { HTTPS_PROXY: value };
		const refused = () => routeOf("https://api.example", environment);
		expect(refused).toThrow(/^Expected HTTPS_PROXY to be the address of a proxy over http or https/);
		expect(refused).not.toThrow(/pa55/);
		expect(routeOf("https://api.example", { ...environment, NO_PROXY: "example" })).toBeUndefined();
	});
});

describe("the exceptions of a program behind our proxy", () => {
	const own = "127.0.0.1,localhost,::1";
	it.each([
		[{}, own, own],
		[{ NO_PROXY: "*" }, "*", "*"],
		[{ NO_PROXY: " * ", no_proxy: "a,*" }, "*", "a,*"],
		[{ no_proxy: "corp.example, *" }, "corp.example, *", "corp.example, *"],
		[{ NO_PROXY: "corp.example" }, `corp.example,${own}`, `corp.example,${own}`],
		[{ no_proxy: "corp.example" }, `corp.example,${own}`, `corp.example,${own}`],
		[{ NO_PROXY: "a.example", no_proxy: "b.example" }, `a.example,${own}`, `b.example,${own}`],
		[{ NO_PROXY: "", no_proxy: "b.example" }, `b.example,${own}`, `b.example,${own}`],
		[{ NO_PROXY: "a.example b.example," }, `a.example b.example,${own}`, `a.example b.example,${own}`],
		[{ NO_PROXY: "localhost,a.example" }, "localhost,a.example,127.0.0.1,::1", "localhost,a.example,127.0.0.1,::1"],
		[{ NO_PROXY: own }, own, own],
	])("with %j is %j and %j", (environment, upper, lower) => {
		expect(exceptingLoopback(environment as Record<string, string>)).toEqual({ NO_PROXY: upper, no_proxy: lower });
	});
});
