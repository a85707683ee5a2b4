import type { IncomingMessage, ServerResponse } from "node:http";
import { othersGoOn, type RequestFacts } from "./edit.ts";
import type { Editor } from "./editor.ts";
import { type Asked, discard, passOn, type Upstream } from "./forward.ts";
import type { Ledger } from "./ledger.ts";
import type { CachingRecord } from "./observed-caching.ts";
import type { Route } from "./routes.ts";
import { readUsage } from "./usage.ts";

interface Exchange {
	readonly response: ServerResponse;
	readonly route: Route;
	readonly upstream: Upstream;
	readonly editor: Editor;
	readonly ledger: Ledger;
	readonly caching: CachingRecord;
}

/** Sends a request as it came, and its answer back. */
export async function pass(asked: Asked, exchange: Exchange): Promise<void> {
	exchange.ledger.count("passed");
	const answer = await askOrRefuse(asked, exchange);
	if (answer) await passOn(answer, exchange.response);
}

/** Sends a request with old results masked. If the upstream refuses the edit, sends it as it came. */
export async function exchangeEdited(
	asked: Omit<Asked, "body"> & { readonly body: { readonly bytes: Buffer }; readonly encoding: string | undefined },
	exchange: Exchange,
): Promise<void> {
	const { route, editor, ledger } = exchange;
	const { body, encoding } = asked;
	const came = { ...asked, body: { bytes: body.bytes, decoded: false } };
	const { text, facts } = await editor.edit(body.bytes, { encoding, route });
	if (asked.signal.aborted) return;
	let wasEdited = text !== undefined;
	const sent = text === undefined ? came : { ...asked, body: { bytes: Buffer.from(text), decoded: true } };
	// The parts are measured for the ledger while the upstream works.
	const measured = othersGoOn().then(() => void facts?.parts());
	let [answer] = await Promise.all([askOrRefuse(sent, exchange), measured]);
	if (answer?.statusCode === 400 && wasEdited) {
		// The upstream may have refused our edit, for example for a signature that is bound to the text that stood there.
		discard(answer);
		ledger.count("sent_again");
		wasEdited = false;
		answer = await askOrRefuse(came, exchange);
		const isOurs = answer !== undefined && (answer.statusCode ?? 500) < 400;
		if (isOurs && facts?.conversation !== undefined) editor.leaveAlone(facts.conversation, "its edits were refused");
	}
	if (!answer) return;
	if (wasEdited) ledger.count("edited");
	const isBilled = facts !== undefined && route.kind === "edited" && (answer.statusCode ?? 500) < 300;
	if (isBilled) await passAndBill(answer, { ...exchange, facts, wasEdited });
	else await passOn(answer, exchange.response);
}

async function passAndBill(
	answer: IncomingMessage,
	what: Exchange & { readonly facts: RequestFacts; readonly wasEdited: boolean },
): Promise<void> {
	const { response, route, ledger, caching, facts, wasEdited } = what;
	const reader = readUsage(answer, route.api);
	await passOn(answer, response, reader.push);
	const usage = await reader.end();
	const { repeated } = ledger.enter(facts, { route, wasEdited, usage });
	const isExpected = facts.terms.caching !== "not_asked";
	if (usage) caching.learn(route.api, facts.terms.model, { usage, repeated, isExpected });
}

/** Answers 502 itself if the upstream cannot be reached. */
async function askOrRefuse(
	asked: Asked,
	{ response, route, upstream }: Exchange,
): Promise<IncomingMessage | undefined> {
	try {
		return await upstream.ask(asked);
	} catch (error) {
		if (asked.signal.aborted) return undefined;
		const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
		refuse(response, { status: 502, message: `The upstream of ${route.api} cannot be reached (${code}).` });
		return undefined;
	}
}

/** In a shape that the clients of all three APIs can show. */
export function refuse(
	response: ServerResponse,
	{ status, message }: { readonly status: number; readonly message: string },
): void {
	const body = JSON.stringify({ type: "error", error: { type: "palimpsest_proxy", code: status, message } });
	response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
	response.end(body);
}
