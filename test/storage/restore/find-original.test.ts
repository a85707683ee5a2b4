import { beforeEach, describe, expect, it } from "vitest";
import { locales } from "../../../src/engine/policy/wordings.ts";
import { PalimpsestError } from "../../../src/errors.ts";
import type { Archive, Original } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { createOriginalFinder } from "../../../src/storage/restore/find-original.ts";
import { parsePlaces, placesKey } from "../../../src/storage/restore/places.ts";
import { shortenedRef } from "../../../src/storage/restore/recognise.ts";
import { policyOf } from "../../support/policy-of.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

const whole = "one line\n".repeat(10);

const keep = async (text: string, toolCallId?: string, kind: Original["kind"] = "result") =>
	(await archive.put([{ kind, text, ...(toolCallId === undefined ? {} : { toolCallId }) }]))[0] ?? "";

/** By default of call `a`. */
function find(text: string, given: { callId?: string | undefined; own?: string } = {}) {
	const { own: placeholder_template = null } = given;
	const policy = policyOf({ locale: "en", mask: { placeholder_template } });
	const callId = "callId" in given ? given.callId : "a";
	const document = openaiMessages(user("Go."), toolTurn(callId ?? "none", text));
	const finder = createOriginalFinder({ archive, policy, document });
	return finder({ text, path: [2, "content"], record: [2], callId });
}

const notice = (chars: number, ref?: string) =>
	`[Output shortened: 7 of 9 lines left out (70 of ${chars} characters)${ref === undefined ? "" : `, ref=${ref}`}]`;

const found = (text: string, name: string) => ({
	kind: "found",
	name,
	isRedacted: false,
	edits: [{ kind: "replace", path: [2, "content"], replacement: text }],
});

describe("a text below a notice with a reference", () => {
	it("is the original of its call, or of a result without an id, for a notice in any place", async () => {
		const ref = await keep(whole, "a");
		for (const text of [`${notice(90, ref)}\none line`, `Before it:\n${notice(90, ref)}\none line`]) {
			expect(await find(text)).toEqual(found(whole, ref));
			expect(await find(text, { callId: undefined })).toEqual(found(whole, ref));
		}
	});

	it("of another call is ambiguous at the top, and a quotation further down", async () => {
		const ref = await keep(whole, "b");
		await keep("its own", "a");
		expect(await find(`${notice(90, ref)}\none line`)).toEqual({ kind: "ambiguous", name: ref });
		expect(await find(`Before it:\n${notice(90, ref)}\none line`)).toBeUndefined();
	});

	it("is not a cut of an original of another length", async () => {
		const ref = await keep(whole, "a");
		for (const chars of [89, 91]) expect((await find(`${notice(chars, ref)}\none line`))?.kind).toBeUndefined();
		const coloured = await keep(`\u001b[31m${whole}\u001b[0m`, "a");
		for (const chars of [90, 99]) expect((await find(`${notice(chars, coloured)}\none line`))?.kind).toBe("found");
	});

	it("is an original of any length if the notice is too short for a number", async () => {
		const ref = await keep(whole, "a");
		const short = locales.en.archived.notices.short.replace("{ref}", ref).replaceAll(/\{\w+\}/g, "7");
		expect(await find(short)).toEqual(found(whole, ref));
	});

	it("is missing if its original is, with any other text around it", async () => {
		const ref = await keep(whole, "b");
		const both = `${notice(90, ref)}\n${notice(90, "abcd2345")}`;
		expect(await find(both)).toEqual({ kind: "missing", name: "abcd2345" });
		expect(await find(`${notice(90, "abcd2345")}\none line`)).toEqual({ kind: "missing", name: "abcd2345" });
	});

	it("is found though a notice above it has no original", async () => {
		const ref = await keep(whole, "a");
		expect(await find(`${notice(90, "abcd2345")}\n${notice(90, ref)}`)).toEqual(found(whole, ref));
	});
});

it("a text below a notice without a reference is unnamed, if the notice is at the top", async () => {
	const text = `${notice(90)}\none line`;
	await keep(whole, "a");
	expect(await find(text)).toEqual({ kind: "unnamed", name: "a" });
	expect(await find(text, { callId: undefined })).toEqual({ kind: "unnamed", name: "a result without an id" });
	expect(await find(`Before it:\n${text}`)).toBeUndefined();
});

describe("a marker with a reference", () => {
	const marker = (ref: string) => `\\n\\n... [9 characters truncated, ref=${ref}] ...\\n\\n`;

	it("in the content of a JSON object counts for the object, however that is spaced", async () => {
		const object = JSON.stringify({ content: whole, more: 1 });
		const ref = await keep(object, "a");
		for (const flag of ['"_truncated":true', '"_truncated" : true']) {
			const text = `{"content":"one line${marker(ref)}one line\\n","more":1,${flag}}`;
			expect(await find(text)).toEqual(found(object, ref));
		}
	});

	it("does not count for a text without such content", async () => {
		const ref = await keep(whole, "a");
		expect(await find(`{"content":"${marker(ref)}","_truncated":true}`)).toEqual({ kind: "ambiguous", name: ref });
	});

	it("is a quotation in a result without an id, if its original begins otherwise", async () => {
		const ref = await keep(whole, "a");
		const quoted = `another line${JSON.parse(`"${marker(ref)}"`)}one line\n`;
		expect(await find(quoted, { callId: undefined })).toBeUndefined();
		expect(await find(quoted)).toEqual({ kind: "ambiguous", name: ref });
	});
});

it("a text cut where the policy for truncation cuts is unnamed, and others may have dots in them", async () => {
	const marker = locales.en.truncation_marker.replace("{omitted_chars}", "700");
	const policy = policyOf({ locale: "en", truncate: { head_chars: 100, tail_chars: 50 } });
	for (const [tail, kind] of [
		[50, "unnamed"],
		[51, undefined],
	] as const) {
		const text = `${"a".repeat(100)}${marker}${"b".repeat(tail)}`;
		const document = openaiMessages(user("Go."), toolTurn("a", text));
		const finder = createOriginalFinder({ archive, policy, document });
		expect((await finder({ text, path: [2, "content"], record: [2], callId: "a" }))?.kind).toBe(kind);
	}
});

describe("a placeholder with the number of characters", () => {
	const own = policyOf({ mask: { placeholder_template: "[gone: {ref}, {original_chars}]" } });

	it.each([
		["one line", 0, "found"],
		["one line", 1, "ambiguous"],
		["one line", -1, "ambiguous"],
		["two\nlines", 1, "found"],
		["two\nlines", 2, "ambiguous"],
	])("of %j may leave out its line feeds, but %s characters less are %s", async (text, apart, kind) => {
		const ref = await keep(text, "a");
		const placeholder = `[gone: ${ref}, ${text.length - apart}]`;
		const document = openaiMessages(user("Go."), toolTurn("a", placeholder));
		const finder = createOriginalFinder({ archive, policy: own, document });
		const result = { text: placeholder, path: [2, "content"], record: [2], callId: "a" };
		expect((await finder(result))?.kind).toBe(kind);
	});
});

it("a placeholder without a reference is unnamed", async () => {
	await keep("own", "a");
	const placeholder = "[Observation masked: old tool result (tool_call_id=a, tool=ls, chars=3)]";
	expect(await find(placeholder)).toEqual({ kind: "unnamed", name: "a" });
	const nameless = await find("[gone: 3]", { callId: undefined, own: "[gone: {original_chars}]" });
	expect(nameless).toEqual({ kind: "unnamed", name: "a result without an id" });
});

describe("an archive that fails", () => {
	it("fails the search, unless it does not have the reference", async () => {
		const text = `${notice(90, "abcd2345")}\none line`;
		const missing = { ...archive };
		const failing = (code: "archive_unavailable" | "original_not_found") => {
			archive = { ...missing, has: async () => true, get: () => Promise.reject(new PalimpsestError(code, "No.")) };
			return find(text);
		};
		expect(await failing("original_not_found")).toEqual({ kind: "missing", name: "abcd2345" });
		await expect(failing("archive_unavailable")).rejects.toMatchObject({ code: "archive_unavailable" });
		archive = { ...missing, has: () => Promise.reject(new TypeError("A mistake.")) };
		await expect(find(text)).rejects.toThrow(TypeError);
	});
});

describe("the reference of a shortened text", () => {
	it.each([
		[`${notice(90, "abcd2345")}\none line`, "abcd2345"],
		["[Exit code 1 after 2.0 s. Output shortened: 7 of 9. All of it: npx p recall abcd2345]\none", "abcd2345"],
		["[All of it: palimpsest recall abcd]\none", undefined],
		["[All of it: palimpsest recall abcd2345] and more\none", "abcd2345"],
		["All of it: palimpsest recall abcd2345]\none", undefined],
		[`one line\n${notice(90, "abcd2345")}`, undefined],
		[`${notice(90)}\none line`, undefined],
		[`${" ".repeat(1_000)}${notice(90, "abcd2345")}`, undefined],
		["", undefined],
	])("%s", (text, ref) => {
		expect(shortenedRef(text)).toBe(ref);
	});
});

describe("archived places", () => {
	const placeholder = (ref: string) =>
		`[Observation masked: old tool result (tool_call_id=a, tool=ls, chars=90, ref=${ref})]`;
	const document = openaiMessages(user("Go."), toolTurn("a", "masked"), toolTurn("b", "masked too"));
	const findAll = async (ref: string) => {
		const finder = createOriginalFinder({ archive, policy: policyOf({ locale: "en" }), document });
		const done = await finder({ text: placeholder(ref), path: [2, "content"], record: [2], callId: "a" });
		return done?.kind === "found" ? done.edits : done;
	};

	it("say in which of the next records values come back, and how they were spelled", async () => {
		const ref = await keep(whole, "a");
		const places = [{ offset: 2, path: "/content", is: "masked too", was: '"\\u0061"' }];
		await keep(JSON.stringify({ record: 2, places }), placesKey(ref), "places");
		expect(await findAll(ref)).toEqual([
			{ kind: "replace", path: [4, "content"], replacement: "a", spelling: '"\\u0061"' },
		]);
	});

	it.each([
		["no places", "text"],
		["a path that is none", JSON.stringify({ record: 2, places: [{ offset: 0, path: "content", is: "masked" }] })],
		["another value", JSON.stringify({ record: 2, places: [{ offset: 0, path: "/content", is: "other" }] })],
	])("with %s are passed over", async (_, text) => {
		const ref = await keep(whole, "a");
		await keep(text, placesKey(ref), "places");
		expect(await findAll(ref)).toEqual(found(whole, ref).edits);
	});

	it("are read only from an object with a list of them", () => {
		expect(parsePlaces('{"record":1,"places":[]}')).toEqual({ record: 1, places: [] });
		for (const text of ["", "[]", "{}", '{"places":{}}', "null"]) expect(parsePlaces(text)).toBeUndefined();
	});
});
