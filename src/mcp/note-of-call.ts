import type { CallEnd, OnCallEnd } from "./call-end.ts";
import { heldArguments } from "./pool/held-arguments.ts";
import type { ToolOutcome } from "./run-tool.ts";

/** A call that begins. */
interface BegunCall {
	readonly tool: string;
	readonly arguments: Readonly<Record<string, unknown>> | undefined;
	readonly signal: AbortSignal;
	readonly request: string | number;
	readonly session: string | undefined;
}

/** What came of it; what is absent is found out. */
type EndedCall = ToolOutcome & { readonly bytes?: number; readonly isBusy?: boolean };

/**
 * Makes the function that takes note of a call's end. Sizes are measured when somebody asks for them: of a large call,
 * writing the arguments once more takes as long as reading them did.
 */
export function noteOfCall(
	{ principal, onCallEnd }: { readonly principal?: string | undefined; readonly onCallEnd?: OnCallEnd | undefined },
	{ tool, arguments: given, signal, request, session }: BegunCall,
): (outcome: EndedCall) => void {
	if (!onCallEnd) return () => undefined;
	const began = performance.now();
	// Bytes that are held are gone once the call is in another thread.
	const bytesHeld = heldArguments(given)?.byteLength;
	const bytesIn = once(() => bytesHeld ?? bytesOfJson(given ?? {}));
	return (outcome) => {
		const { code, report, result, bytes, isBusy = false } = outcome;
		const isCancelled = signal.aborted;
		const kind = isCancelled ? "cancelled" : isBusy ? "busy" : code === undefined ? "ok" : "error";
		const bytesOut = once(() => (isCancelled ? 0 : bytes || bytesOfJson(result)));
		const end: CallEnd = {
			tool,
			request,
			session,
			principal,
			outcome: kind,
			// What the end of a call that nobody waits for threw says nothing.
			code: isCancelled ? undefined : code,
			milliseconds: performance.now() - began,
			get bytesIn() {
				return bytesIn();
			},
			get bytesOut() {
				return bytesOut();
			},
			report,
		};
		try {
			onCallEnd(end);
		} catch {
			// Nobody's call fails for the sake of a note.
		}
	};
}

function once(find: () => number): () => number {
	let found: number | undefined;
	return () => {
		found ??= find();
		return found;
	};
}

/** 0 where it is nested too deep to be written. */
function bytesOfJson(value: unknown): number {
	try {
		return Buffer.byteLength(JSON.stringify(value));
	} catch {
		return 0;
	}
}
