import { describe, expect, it } from "vitest";
import { policyFields } from "../../../src/engine/policy/check.ts";
import { environmentLayer, parsePolicyText, settingsLayer } from "../../../src/engine/policy/layers.ts";
import {
	count,
	createOpenAiCompatible,
	guard,
	mask,
	openArchive,
	PalimpsestError,
	truncate,
} from "../../../src/index.ts";
import { zodWords } from "../../support/zod-words.ts";

/** Values of every kind, as TOML writes them. */
const values = [
	"true",
	"-5",
	"1e300",
	"1.5",
	'""',
	'"TOP"',
	"[]",
	"[1]",
	'["x"]',
	"{}",
	"{ x = 1 }",
	"1979-05-27",
	"nan",
];
const keys = policyFields().map(({ key }) => key);
const messages = [{ role: "user", content: "Hello" }];

async function messageOf(work: () => unknown): Promise<string | undefined> {
	try {
		await work();
		return undefined;
	} catch (error) {
		expect(error).toBeInstanceOf(PalimpsestError);
		return (error as Error).message;
	}
}

/** Every way in which a policy comes in. */
const ways: readonly [way: string, make: (key: string, value: string) => unknown][] = [
	["a policy file", (key, value) => parsePolicyText(`${key} = ${value}`, "palimpsest.toml")],
	["--set", (key, value) => settingsLayer([`${key}=${value}`])],
	[
		"the environment",
		(key, value) => environmentLayer({ [`PALIMPSEST_${key.replaceAll(".", "_").toUpperCase()}`]: value }),
	],
	["the library's option", (key, value) => mask(messages, { policy: parsedPolicy(key, value) })],
];

function parsedPolicy(key: string, value: string): never {
	const texts: Readonly<Record<string, unknown>> = {
		"1e300": 1e300,
		nan: Number.NaN,
		"1979-05-27": new Date(0),
		"{ x = 1 }": { x: 1 },
	};
	const made = texts[value] ?? JSON.parse(value);
	return key.split(".").reduceRight((inner, part) => ({ [part]: inner }), made) as never;
}

describe("errors of the policy and of the library's options", () => {
	it.each(ways)("use our own wording for every field of %s", async (_, make) => {
		let refused = 0;
		for (const key of [...keys, ...new Set(keys.map((one) => one.split(".")[0] ?? ""))]) {
			for (const value of values) {
				const message = await messageOf(() => make(key, value));
				if (message === undefined) continue;
				refused += 1;
				expect(message, `${key} = ${value}`).not.toMatch(zodWords);
			}
		}
		expect(refused).toBeGreaterThan(300);
	});

	it.each([
		["guard", () => guard(messages, { contextWindow: "9000" as never })],
		["guard", () => guard(messages, { contextWindow: 0 })],
		["guard", () => guard(messages, { tools: 5 })],
		["guard", () => guard(messages, { contextWindow: 9_000, usage: "text" })],
		["guard", () => guard(messages, { contextWindow: 9_000, lastResponse: "text" })],
		["guard", () => guard(messages, { policy: "text" as never })],
		["truncate", () => truncate("text", { strategy: "autoo" as never })],
		["truncate", () => truncate(5 as never)],
		["count", () => count("text", { encoding: "o201k_base" as never })],
		["openArchive", () => openArchive({ where: 5 as never })],
		["createOpenAiCompatible", () => createOpenAiCompatible({ baseUrl: 5 as never, model: "m" })],
	])("use our own wording for options of %s", async (_, work) => {
		const message = await messageOf(work);
		expect(message).toBeDefined();
		expect(message).not.toMatch(zodWords);
	});
});
