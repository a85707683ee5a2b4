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

/** Makes the function that takes note of a call's end; it measures nothing where nobody listens. */
export function noteOfCall(
	{ principal, onCallEnd }: { readonly principal?: string | undefined; readonly onCallEnd?: OnCallEnd | undefined },
	{ tool, arguments: given, signal, request, session }: BegunCall,
): (outcome: EndedCall) => void {
	if (!onCallEnd) return () => undefined;
	const began = performance.now();
	// Bytes that are held are gone once the call is in another thread.
	const bytesIn = heldArguments(given)?.byteLength ?? bytesOfJson(given ?? {});
	return (outcome) => {
		const { code, report, result, bytes, isBusy = false } = outcome;
		const kind = signal.aborted ? "cancelled" : isBusy ? "busy" : code === undefined ? "ok" : "error";
		const end: CallEnd = {
			tool,
			request,
			session,
			principal,
			outcome: kind,
			// What the end of a call that nobody waits for threw says nothing.
			code: signal.aborted ? undefined : code,
			milliseconds: performance.now() - began,
			bytesIn,
			bytesOut: signal.aborted ? 0 : bytes || bytesOfJson(result),
			report,
		};
		try {
			onCallEnd(end);
		} catch {
			// Nobody's call fails for the sake of a note.
		}
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
