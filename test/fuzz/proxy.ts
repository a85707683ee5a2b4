import type { IncomingMessage } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { type Api, apis } from "../../src/proxy/billing/observed-caching.ts";
import { readUsage } from "../../src/proxy/billing/read-usage.ts";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import { formatsOfApi, readRequest } from "../../src/proxy/host-request.ts";
import { openEditing, prepare } from "../../src/proxy/sending/editing.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { isReferenceLine } from "../../src/storage/restore/recognise.ts";
import { restoreText } from "../../src/storage/restore/restore.ts";
import { rows } from "../formats/all-rows.ts";
import type { FormatRow } from "../formats/format-row.ts";
import { policyOf } from "../support/policy-of.ts";
import { drawDocument, drawText } from "./documents.ts";
import { drawTextChanges, oddNumbers, oddValues } from "./mutations.ts";
import { requireSame, settle } from "./oracles.ts";
import { between, chance, listOf, pick, type Random, type Target } from "./target.ts";

const rowsOf = (api: Api): readonly FormatRow[] => {
	const formats: readonly string[] = formatsOfApi[api];
	return rows.filter(({ format }) => formats.includes(format.name));
};

interface BodyCase {
	readonly api: Api;
	readonly kind: "edited" | "counted";
	readonly text: string;
	/** Otherwise a part of a list may hold more than its text, and goes with it when the list becomes one text. */
	readonly isWellFormed: boolean;
	/** Items that the next request has besides. */
	readonly later: readonly unknown[];
	readonly window: number;
	readonly preset: "balanced" | "observation-masking";
}

/** Request bodies that the proxy edits, each sent again and then with more messages. */
export const proxyBodies: Target = {
	name: "proxy-bodies",
	draw(random): BodyCase {
		const api = pick(random, apis);
		const drawn = drawDocument(random, rowsOf(api));
		const key = rowsOf(api).find(({ format }) => format.name === drawn.format)?.key ?? "messages";
		const document = Array.isArray(drawn.document) ? { model: "m", [key]: drawn.document } : drawn.document;
		const more = drawDocument(random, rowsOf(api)).document;
		const spelled = JSON.stringify(document, null, pick(random, [0, 1, "\t"]));
		return {
			api,
			kind: chance(random, 0.9) ? "edited" : "counted",
			text: chance(random, 0.1) ? drawTextChanges(random, spelled, ["{", "]", ",", '"']) : spelled,
			isWellFormed: drawn.isWellFormed,
			later: Array.isArray(more) ? more : [],
			window: between(random, 0, 3),
			preset: pick(random, ["balanced", "observation-masking"]),
		};
	},
	async check({ api, kind, text: drawn, isWellFormed, later, window, preset }: BodyCase) {
		// A request is bytes, which hold no half of a character.
		const text = Buffer.from(drawn).toString("utf8");
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const policy = policyOf({
			preset,
			mask: { enabled: true, window_turns: window, cadence: "every_turn", selection: "age" },
		});
		const now = () => 1_790_000_000_000;
		const faults: string[] = [];
		const onFault = (fault: string) => void faults.push(fault);
		const editing = await openEditing({ policy, archive, holdout: 0, now, onFault });
		/** The request as it is sent, once the one before it is planned on. */
		const sendOnce = async (body: string): Promise<string | undefined> => {
			const read = await readRequest(Buffer.from(body), {
				encoding: undefined,
				hold: { take: () => true, takeInTurn: async () => true },
				route: { upstream: api, api, kind },
				policy,
				recall: { command: "palimpsest recall" },
				termsOf: (value) => cacheTerms(value, api, policy.prices),
				isEnforced: false,
			});
			if (read.kind !== "conversation") return undefined;
			const { composed, planAhead } = await prepare(read.request, editing);
			await planAhead();
			return composed?.written;
		};
		const send = async (body: string) => settle(() => sendOnce(body), isWellFormed);
		await send(text);
		const first = await send(text);
		if (first.is === "refused" || first.value === undefined) return "refused";
		const sent = first.value;
		const again = await send(text);
		requireSame(again.is === "done" && again.value, sent, "the same request goes out by the same bytes");
		requireSame(isWellFormed ? faults : [], [], "planning does not fail");
		const { text: restored } = await restoreText({
			text: sent,
			name: "the request",
			archive,
			policy,
			recall: { by: "palimpsest recall" },
		});
		if (isWellFormed) {
			const [now, was] = [JSON.parse(restored), JSON.parse(text)];
			if (!isRestored(now, was)) requireSame(stringsIn(now), stringsIn(was), "every text can be read again");
		}
		const next = await send(JSON.stringify(withMore(JSON.parse(text), later)));
		if (next.is === "done" && next.value !== undefined && kind === "edited") {
			requireStaysMasked({ came: JSON.parse(text), sent: JSON.parse(sent), next: JSON.parse(next.value) });
		}
		await archive.close();
		return "done";
	},
};

/** Whether all texts are there again. A list of texts may have become one text, and other JSON its text. */
function isRestored(now: unknown, was: unknown): boolean {
	if (stringsIn(now) === stringsIn(was)) return true;
	if (typeof was !== "object" || was === null) return false;
	if (isDeepStrictEqual(jsonIn(textsIn(now)), was)) return true;
	if (typeof now !== "object" || now === null || Array.isArray(now) !== Array.isArray(was)) return false;
	const [members, before] = [Object.entries(now), Object.entries(was)];
	return (
		members.length === before.length &&
		members.every(([name, one], index) => name === before[index]?.[0] && isRestored(one, before[index]?.[1]))
	);
}

function stringsIn(value: unknown): string {
	return textsIn(value).join("\n");
}

/** All texts of a value in order. */
function textsIn(value: unknown, key?: string): string[] {
	if (typeof value === "string") return key === "type" ? [] : [value];
	return typeof value === "object" && value !== null
		? Object.entries(value).flatMap(([name, inner]) => textsIn(inner, name))
		: [];
}

/** The value whose JSON the only text is. */
function jsonIn([text = "", ...others]: readonly string[]): unknown {
	if (others.length > 0) return undefined;
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

const keys = ["messages", "contents", "input"] as const;

function itemsOf(body: unknown): readonly unknown[] {
	const members = body as Readonly<Record<string, unknown>>;
	return (keys.map((key) => members[key]).find(Array.isArray) ?? []) as readonly unknown[];
}

function withMore(body: Readonly<Record<string, unknown>>, later: readonly unknown[]): unknown {
	const key = keys.find((one) => Array.isArray(body[one]));
	return key === undefined ? body : { ...body, [key]: [...itemsOf(body), ...later] };
}

/**
 * The cache of the provider holds the bytes that were sent. More may be masked later, beside what is masked already; then
 * lines that were left out because they stand in a result that is no longer in view come back.
 */
function requireStaysMasked({ came, sent, next }: { came: unknown; sent: unknown; next: unknown }): void {
	const [before, after, later] = [itemsOf(came), itemsOf(sent), itemsOf(next)];
	let hasMoreMasked = false;
	const compare = (old: unknown, edited: unknown, current: unknown): void => {
		if (JSON.stringify(edited) === JSON.stringify(current)) return;
		if (JSON.stringify(old) === JSON.stringify(edited)) {
			hasMoreMasked = true;
			return;
		}
		const isInside = [old, edited, current].every((one) => typeof one === "object" && one !== null);
		const keys = isInside ? Object.keys(edited as object) : [];
		const at = (one: unknown, key: string) => (one as Record<string, unknown>)[key];
		const isRepeat = textsIn(edited).some((text) => text.split("\n").some(isReferenceLine));
		const comesBack = hasMoreMasked && isRepeat;
		if (!isInside && !comesBack) requireSame(current, edited, "a masked result stays masked by the same bytes");
		for (const key of keys) compare(at(old, key), at(edited, key), at(current, key));
	};
	for (const [index, item] of after.entries()) compare(before[index], item, later[index]);
}

interface StreamCase {
	readonly api: Api;
	readonly type: string;
	readonly encoding: string;
	readonly body: string;
	/** Places at which the body is cut into pieces. */
	readonly cuts: readonly number[];
	readonly isDamaged: boolean;
}

const compressors: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
	gzip: gzipSync,
	deflate: deflateSync,
	br: brotliCompressSync,
};

/** Answers of providers, from which the proxy reads the usage as they pass. */
export const proxyStreams: Target = {
	name: "proxy-streams",
	draw(random): StreamCase {
		const isStream = chance(random, 0.7);
		const events = listOf(random, [0, 6], drawEvent);
		const body = isStream
			? events
					.map(
						(event) =>
							`${pick(random, ["data: ", "data:", "event: x\ndata: "])}${event}${pick(random, ["\n\n", "\r\n\r\n", "\n"])}`,
					)
					.join("")
			: (events[0] ?? "");
		return {
			api: pick(random, apis),
			type: isStream ? "text/event-stream" : pick(random, ["application/json", "", "text/plain"]),
			encoding: pick(random, ["identity", "identity", "gzip", "deflate", "br", "zstd", "", "gzip, br"]),
			body: chance(random, 0.3) ? drawTextChanges(random, body, ["\n\n", "data: ", '"usage"', "{", "\u0000"]) : body,
			cuts: listOf(random, [0, 8], () => between(random, 0, 4_000)),
			isDamaged: chance(random, 0.2),
		};
	},
	async check({ api, type, encoding, body, cuts, isDamaged }: StreamCase) {
		const compressed = compressors[encoding]?.(Buffer.from(body)) ?? Buffer.from(body);
		const bytes = isDamaged ? compressed.subarray(0, Math.floor(compressed.length * 0.7)) : compressed;
		const answer = { headers: { "content-type": type, "content-encoding": encoding } } as Pick<
			IncomingMessage,
			"headers"
		>;
		const read = async (places: readonly number[]) => {
			const reader = readUsage(answer, api);
			for (const [index, place] of [0, ...places].entries())
				reader.push(bytes.subarray(place, [0, ...places][index + 1]));
			return reader.end();
		};
		const ordered = cuts.filter((cut) => cut <= bytes.length).toSorted((one, other) => one - other);
		const usage = await read(ordered);
		if (!isDamaged) requireSame(usage, await read([]), "pieces of the answer do not change its usage");
		const { isCut: _cut, unknownFields: _names, passes = [], beside = [], ...sums } = usage ?? {};
		const numbers: number[] = [sums, ...passes, ...beside.map(({ counts }) => counts)].flatMap((one) =>
			Object.values(one),
		);
		requireSame(
			numbers.filter((number) => !Number.isFinite(number)),
			[],
			"usage is numbers",
		);
		return usage === undefined ? "refused" : "done";
	},
};

const fieldsOfUsage = [
	...["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"],
	...["prompt_tokens", "completion_tokens", "prompt_tokens_details", "promptTokenCount", "cachedContentTokenCount"],
];

function drawEvent(random: Random): string {
	const number = () =>
		chance(random, 0.7) ? between(random, 0, 5_000) : pick<unknown>(random, [...oddNumbers, ...oddValues]);
	const usage = Object.fromEntries(listOf(random, [0, 6], () => [pick(random, fieldsOfUsage), number()]));
	const named = chance(random, 0.7) ? { usage } : { usageMetadata: usage };
	const held = pick<unknown>(random, [
		named,
		{ message: named },
		{ response: named },
		[named],
		{ delta: drawText(random) },
		"[DONE]",
	]);
	return JSON.stringify(held);
}
