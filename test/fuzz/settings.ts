import { parse, stringify } from "smol-toml";
import { parsePolicyText, resolvePolicy } from "../../src/engine/policy/layers.ts";
import { policySchema } from "../../src/engine/policy/schema.ts";
import { readSettings } from "../../src/formats/json-text/settings.ts";
import { hookTarget, withHook, withoutHook } from "../../src/hosts/hooks.ts";
import { hookHosts, serverHosts } from "../../src/hosts/hosts.ts";
import { enterServer, isWritable, removeServer } from "../../src/hosts/install.ts";
import { serverStart } from "../../src/hosts/own-command.ts";
import { drawChanges, drawTextChanges, oddNumbers, oddTexts } from "./mutations.ts";
import { require, requireSame, settle } from "./oracles.ts";
import { chance, listOf, pick, type Random, type Target } from "./target.ts";

interface PolicyCase {
	readonly text: string;
}

const whole: unknown = JSON.parse(JSON.stringify(resolvePolicy([])));

/** Policy files: any text is a policy or refused by `invalid_policy`. */
export const policyFiles: Target = {
	name: "policy-files",
	draw(random): PolicyCase {
		const policy = structuredClone(whole) as Record<string, unknown>;
		for (const key of Object.keys(policy)) if (chance(random, 0.6)) delete policy[key];
		drawChanges(random, policy, 6);
		const text = tomlOf(policy);
		const pieces = ["[mask]\n", "=", '"', "[[", "]]\n", "\n", "'''", "1979-05-27T07:32:00Z", "inf", "nan", "0x", "\\u"];
		return { text: chance(random, 0.5) ? drawTextChanges(random, text, pieces) : text };
	},
	async check({ text }: PolicyCase) {
		const done = await settle(() => resolvePolicy([parsePolicyText(text, "palimpsest.toml")]));
		if (done.is === "refused") {
			requireSame(done.code, "invalid_policy", "a policy is refused as such");
			return "refused";
		}
		require(policySchema.safeParse(done.value).success, "a policy that is taken is complete");
		return "done";
	},
};

/** TOML has no null. */
function tomlOf(value: unknown): string {
	try {
		return stringify(JSON.parse(JSON.stringify(value, (_, one: unknown) => (one === null ? undefined : one))));
	} catch {
		return "";
	}
}

interface HostCase {
	readonly host: string;
	readonly text: string;
	readonly by: "server" | "hook";
}

const writable = serverHosts.filter(isWritable);
// Hooks are entered with the command of this process, which is recognised as ours by its name.
process.argv[1] = "/opt/palimpsest/cli.js";
const hooked = hookHosts.flatMap((host) => {
	const target = hookTarget(host, { isForProject: false, mostChars: 10_000 });
	return target.kind === "entries" ? [{ name: host.name, target }] : [];
});
const start = serverStart({ preset: "balanced", platform: "linux" });

/** Configuration files of hosts: whatever stands in them, nothing but our own entry changes. */
export const hostFiles: Target = {
	name: "host-files",
	draw(random): HostCase {
		const by = chance(random, 0.6) ? "server" : "hook";
		const host = (by === "hook" ? pick(random, hooked) : pick(random, writable)).name;
		const { format, key } = writable.find(({ name }) => name === host) ?? { format: "json", key: ["hooks"] };
		const isJson = by === "hook" || format === "json";
		const settings = drawSettings(random, by === "hook" ? ["hooks", "PostToolUse"] : key);
		const text = isJson ? jsonText(random, settings) : tomlText(random, settings);
		const pieces = ["{", "}", ",", '"', "//", "/*", "*/", "\n", "[", "]", "#", "=", '"palimpsest"', key.join(".")];
		return { by, host, text: chance(random, 0.3) ? drawTextChanges(random, text, pieces) : text };
	},
	async check({ host, text, by }: HostCase) {
		const { enter, remove, isThere, isJson } = by === "hook" ? hookOf(host) : serverOf(host);
		const read = (one: string): unknown => (isJson ? readSettings(one) : toml(one));
		const was = await settle(() => isThere(text));
		const entered = await settle(() => enter(text));
		if (entered.is === "refused" || was.is === "refused") return "refused";
		requireSame(await enter(entered.value), entered.value, "entering twice changes nothing");
		requireSame(isThere(entered.value), true, "it is there");
		const removed = remove(entered.value);
		requireSame(isThere(removed), false, "it is gone");
		if (was.value) return "done";
		const isEmpty = text.trim() === "";
		require(isSubsequence(marksOf(text), marksOf(entered.value)), "everything that stood there still stands there");
		if (!isEmpty)
			requireSame(withoutEmpty(read(removed)), withoutEmpty(read(text)), "all other settings are as before");
		// An empty list or object around our entry goes with it.
		if (/[{[]\s*[}\]]/.test(text)) return "done";
		require(isSubsequence(
			marksOf(text).replace(/[,{}[\]]/g, ""),
			marksOf(removed),
		), "nothing is missing after its removal");
		return "done";
	},
};

function serverOf(name: string) {
	const host = writable.find((one) => one.name === name);
	if (!host) throw new Error(`no host ${name}`);
	return {
		enter: (text: string) => enterServer(text, host, start),
		remove: (text: string) => removeServer(text, host),
		isThere: (text: string) => removeServer(text, host) !== text,
		isJson: host.format === "json",
	};
}

function hookOf(name: string) {
	const { target } = hooked.find((one) => one.name === name) ?? {};
	if (!target) throw new Error(`no hook of ${name}`);
	return {
		enter: (text: string) => withHook(text, target),
		remove: (text: string) => withoutHook(text, target) ?? "",
		isThere: (text: string) => withoutHook(text, target) !== text,
		isJson: true,
	};
}

const toml = (text: string): unknown =>
	JSON.parse(JSON.stringify(parse(text), (_, one: unknown) => (typeof one === "bigint" ? String(one) : one)));

/** What counts in a text: all but white space. */
const marksOf = (text: string) => text.replace(/\s/g, "");

function isSubsequence(part: string, whole: string): boolean {
	let at = 0;
	for (const letter of whole) if (letter === part[at]) at += 1;
	return at >= part.length;
}

/** Empty objects may go with our entry. */
function withoutEmpty(value: unknown): unknown {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
	const members = Object.entries(value).map(([key, one]) => [key, withoutEmpty(one)] as const);
	const isEmpty = (one: unknown) => typeof one === "object" && one !== null && Object.keys(one).length === 0;
	return Object.fromEntries(members.filter(([, one]) => !isEmpty(one)));
}

const names = [
	"palimpsest",
	"files",
	"theme",
	"model",
	"a.b",
	'quo"ted',
	"",
	"__proto__",
	"команда",
	...oddTexts.slice(0, 6),
];

function drawSettings(random: Random, key: readonly string[]): Record<string, unknown> {
	const entry = (): unknown => ({
		command: pick(random, ["npx", "palimpsest", "x"]),
		args: ["-y", "files"],
		hooks: [{ type: "command", command: "mine" }],
	});
	const leaf = () => pick<unknown>(random, [true, "dark", 7, ["a", 1], {}, [], entry(), ...oddNumbers.slice(0, 3)]);
	const settings: Record<string, unknown> = Object.fromEntries(
		listOf(random, [0, 4], () => [pick(random, names), leaf()]),
	);
	if (chance(random, 0.6)) {
		const held =
			key.at(-1) === "PostToolUse" ? listOf(random, [0, 2], entry) : { [pick(random, names)]: leaf(), more: entry() };
		const outer = key.at(-1) === "PostToolUse" ? key : key.slice(0, -1);
		const nested = outer.reduceRight<unknown>((inner, name) => ({ [name]: inner }), held);
		Object.assign(settings, nested);
	}
	return settings;
}

function jsonText(random: Random, settings: unknown): string {
	const text = JSON.stringify(settings, null, pick(random, [0, 1, 2, "\t"]));
	const comment = () => pick(random, ["// mine\n", "/* mine */", "\n\n", " "]);
	const commented = text.replace(/[,{[](?=\s)/g, (mark) => (chance(random, 0.15) ? `${mark} ${comment()}` : mark));
	const trailing = chance(random, 0.2) ? commented.replace(/(?<=["\d\]}])(?=\s*\}\s*$)/, ",") : commented;
	return chance(random, 0.2) ? trailing.replaceAll("\n", "\r\n") : trailing;
}

function tomlText(random: Random, settings: unknown): string {
	const text = tomlOf(settings);
	const commented = text.replace(/\n/g, () => (chance(random, 0.15) ? ` # mine\n# more\n` : "\n"));
	return chance(random, 0.2) ? commented.replaceAll("\n", "\r\n") : commented;
}
