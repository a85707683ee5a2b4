import type { IncomingMessage } from "node:http";
import { providerCompaction } from "../engine/compaction/provider-block.ts";
import { mayComeBack, type OutgoingError } from "../operations/http/outgoing.ts";
import { type Asked, heldAnswer } from "./forward.ts";
import { withBeta } from "./host-request.ts";
import { refuse } from "./refusal.ts";
import { clearingBeta } from "./sending/clearing.ts";
import type { Composed } from "./sending/composed.ts";
import type { Sent } from "./sending/facts.ts";
import { dropBlocks, isBindingRefusal } from "./sending/reasoning.ts";
import { sendAgain } from "./sending/send-again.ts";
import type { AskedWhole, Exchange } from "./serving.ts";

type Asks = Pick<Composed<string>, "asksToDrop" | "asksToClear" | "block" | "isDiagnosed">;

/** An answer, and the form of the request that it answers. */
export interface Answered {
	readonly answer: IncomingMessage;
	readonly sent: (Sent & Asks) | undefined;
}

/** Asks the upstream, in another form where it refuses the first. `undefined` if nothing answers; the host is told then. */
export async function askWith(
	asked: AskedWhole,
	composed: Composed<string> | undefined,
	exchange: Exchange,
): Promise<Answered | undefined> {
	const answer = await askOrRefuse(askedFor(asked, composed), exchange);
	if (answer?.statusCode !== 400 || !composed) return answer && { answer, sent: composed };
	return askAgain(answer, composed, { asked, exchange });
}

export function askedFor(
	asked: AskedWhole,
	form: (Pick<Sent, "written"> & Asks) | undefined,
): Asked & { readonly body: { readonly bytes: Buffer; readonly decoded: boolean } } {
	const { written } = form ?? {};
	const { body, rawHeaders } = asked;
	const betas = [
		...(form?.asksToDrop ? [dropBlocks.beta] : []),
		...(form?.asksToClear ? [clearingBeta] : []),
		...(form?.block ? [providerCompaction.beta] : []),
	];
	const headers = betas.reduce<readonly string[]>(withBeta, rawHeaders);
	if (typeof written !== "string") return { ...asked, body: { bytes: body.bytes, decoded: false } };
	return { ...asked, rawHeaders: headers, body: { bytes: Buffer.from(written), decoded: true } };
}

/** Tries other forms of a refused request. A refusal of all of them is the host's to see. */
async function askAgain(
	refusal: IncomingMessage,
	composed: Composed<string>,
	{ asked, exchange }: { readonly asked: AskedWhole; readonly exchange: Exchange },
): Promise<Answered | undefined> {
	const { ledger, log, accounts, upstream } = exchange;
	const held = await heldAnswer(refusal);
	const isBinding = isBindingRefusal(held.headers, held.text);
	if (isBinding && accounts.learn(upstream.origin, asked.headers)) {
		const message =
			"This account checks the messages that reasoning is bound to. Reasoning that an edit makes invalid is left out from now on.";
		log?.({ level: "notice", message, data: { event: "reasoning_enforced" } });
	}
	let answer: IncomingMessage | undefined;
	const form = await sendAgain<string>(composed, isBinding ? "reasoning" : "something_else", async (one) => {
		ledger.count("sent_again");
		answer = await askOrRefuse(askedFor(asked, one), exchange);
		if (answer?.statusCode !== 400) return answer ? "accepted" : "no_answer";
		const { headers, text } = await heldAnswer(answer);
		return isBindingRefusal(headers, text) ? "reasoning" : "something_else";
	});
	if (form === "no_answer") return undefined;
	if (form === "refused" || !answer) return { answer: held.again(), sent: composed };
	const kind = isBinding ? "for its reasoning" : "for an edit";
	const message = `A request was refused ${kind} and sent again in another form, which was accepted.`;
	log?.({ level: "warning", message, data: { event: "sent_again" } });
	return { answer, sent: form };
}

/** Answers 502 itself if the upstream cannot be reached. */
export async function askOrRefuse(
	asked: Asked,
	{ response, route, upstream, ledger }: Exchange,
): Promise<IncomingMessage | undefined> {
	try {
		return await upstream.ask(asked);
	} catch (error) {
		if (asked.signal.aborted) return undefined;
		const { code = "unknown error", advice = "" } = error as OutgoingError;
		ledger.failed({ kind: "unreached", address: upstream.origin, code });
		const message = `The upstream of ${route.upstream} cannot be reached (${code}). ${advice}`.trimEnd();
		refuse(response, { status: 502, message, upstream: route.upstream, mayRetry: mayComeBack(error as OutgoingError) });
		return undefined;
	}
}
