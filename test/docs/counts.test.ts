import { expect, it } from "vitest";
import { formats } from "../../src/formats/detect.ts";
import { hookHosts, hosts, launchedPrograms, serverHosts } from "../../src/hosts/hosts.ts";
import { pages } from "./markdown.ts";

/** What has a section on the page on hosts: where the server is entered, or a plugin. */
const allHosts = new Set([...serverHosts, ...hookHosts].map(({ name }) => name));

it.each([
	["docs/formats.md", formats.length],
	["docs/hosts.md", allHosts.size],
])("every page that links to %s gives the right number: %d", (target, number) => {
	const pattern = new RegExp(`\\[(\\w+) (?:formats|hosts)\\]\\(${target}`, "g");
	const given = pages.flatMap(({ path, text }) =>
		Array.from(text.matchAll(pattern), ([, count]) => ({ path, count: Number(count) })),
	);
	expect(given).toContainEqual({ path: "README.md", count: number });
	expect(given.filter(({ count }) => count !== number)).toEqual([]);
});

it.each([
	["docs/hosts.md", "host", allHosts.size],
	["docs/hosts.md", "program | session file", hosts.filter(({ session }) => session).length],
	["docs/proxy.md", "program | tokens", launchedPrograms.length],
])("%s has a row for each in its table that begins with %s", (target, head, number) => {
	const page = pages.find(({ path }) => path === target)?.text ?? "";
	const [, table = ""] = page.split(new RegExp(`^\\| ${head.replace("|", "\\|")} .*\n\\|[-|]+\\|\n`, "m"));
	expect(/^(?:\|.*\n)+/.exec(table)?.[0].trim().split("\n")).toHaveLength(number);
});
