import { PalimpsestError } from "../errors.ts";
import { decodeText } from "../files/access.ts";
import type { Log } from "../operations/edit-record.ts";
import { decodeBody, hasTooManyValues } from "./body.ts";
import { type Editing, type EditOutcome, editRequest } from "./edit.ts";
import type { Route } from "./routes.ts";

/** Reasons of ours for which a request went out as it came. */
export const faults = ["failed", "too_slow", "archive", "encoding"] as const;

export type Fault = (typeof faults)[number];

export interface EditorOptions extends Editing {
	readonly log: Log | undefined;
	readonly onFault: (fault: Fault) => void;
	readonly onLeftAlone?: (() => void) | undefined;
	/** Milliseconds that this process has worked. Waiting for other programs does not count. */
	readonly worked: () => number;
	/** `editRequest`; tests inject faults. */
	readonly engine?: typeof editRequest | undefined;
}

export type Editor = ReturnType<typeof createEditor>;

/** Decoded. A larger body passes through. */
export const mostEditedBytes = 64 * 1024 * 1024;

/** The first edit of a process runs code that is not compiled yet, and compiling counts as work. */
const slow = { atLeastMs: 500, msOfMegabyte: 100 };

/** For a disk that is busy, or an archive that is elsewhere. */
const longestWaitMs = 2_000;

/** Edits requests so that no fault of ours gets in their way: after any, `text` is `undefined`, and the request goes out as it came. */
export function createEditor(options: EditorOptions) {
	const { log, onFault, onLeftAlone, worked, memory, engine = editRequest } = options;
	// One after the other, so that the time of one is not that of others. Holds no outcome, which holds a conversation.
	let last: Promise<unknown> = Promise.resolve();
	const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
		const turn = last.then(work);
		last = turn.then(
			() => undefined,
			() => undefined,
		);
		return turn;
	};
	const slowBefore = new Set<string>();

	const fault = (kind: Fault, reason: string): EditOutcome => {
		onFault(kind);
		const message = `A request went out as it came: ${reason}`;
		log?.({ level: "warning", message, data: { event: "proxy_fault", fault: kind } });
		return { text: undefined, facts: undefined };
	};

	const leaveAlone = (conversation: string, reason: string): void => {
		onLeftAlone?.();
		let kept = "";
		try {
			memory.remember(conversation, { leftAlone: reason });
		} catch {
			kept = ", as long as this proxy runs";
		}
		const message = `A conversation is left alone from now on: ${reason}${kept}.`;
		log?.({ level: "warning", message, data: { event: "left_alone" } });
	};

	const editOne = async (text: string, route: Route): Promise<EditOutcome> => {
		const limit = Math.max(slow.atLeastMs, (text.length / 1_000_000) * slow.msOfMegabyte);
		const start = worked();
		const outcome = await inTime(engine(text, route, options), limit + longestWaitMs);
		if (outcome === undefined) return fault("archive", "its originals were not archived in time.");
		const took = worked() - start;
		if (took <= limit || outcome.text === undefined) return outcome;
		const { conversation = "" } = outcome.facts ?? {};
		// The first edit of a long conversation counts and cuts everything in it; the next one remembers that.
		if (slowBefore.has(conversation)) leaveAlone(conversation, "its edits take too long");
		slowBefore.add(conversation);
		return fault("too_slow", `its edit took ${Math.round(took)} ms.`);
	};

	return {
		/** `bytes` have the encoding that the request names. */
		async edit(bytes: Buffer, { encoding, route }: { readonly encoding: string | undefined; readonly route: Route }) {
			const decoded = await decodeBody(bytes, encoding, mostEditedBytes);
			if (!decoded) return fault("encoding", "its body has an encoding that is not known here.");
			if (hasTooManyValues(decoded)) return fault("too_slow", "it has more members and items than a conversation.");
			try {
				return await inTurn(() => editOne(decodeText(decoded, "the request"), route));
			} catch (error) {
				const isArchive = error instanceof PalimpsestError && error.code === "archive_unavailable";
				return fault(isArchive ? "archive" : "failed", describe(error));
			}
		},
		leaveAlone,
		/** Runs other work while nothing is edited. */
		inTurn,
	};
}

/** `undefined` if it takes longer, while it waits. */
export async function inTime<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<undefined>((resolve) => {
		timer = setTimeout(() => resolve(undefined), milliseconds);
	});
	// It may still fail after that.
	work.catch(() => {});
	return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Errors of other code may quote the conversation. */
function describe(error: unknown): string {
	if (error instanceof PalimpsestError) return error.message.split("\n", 1)[0] ?? error.code;
	return `${error instanceof Error ? error.name : "an unknown error"} in the proxy.`;
}
