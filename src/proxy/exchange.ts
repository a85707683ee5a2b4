import { once } from "../engine/conversation/lists.ts";
import { PalimpsestError } from "../errors.ts";
import { isGood, passAndBill, passAndBillWhole, termsOf } from "./answer-bill.ts";
import { type Answered, askedFor, askOrRefuse, askWith } from "./ask.ts";
import { askForSummary } from "./ask-summary.ts";
import { type Asked, heldAnswer, passOn } from "./forward.ts";
import { readRequest, threadRefusal } from "./host-request.ts";
import type { AnsweredRequest } from "./keep-warm.ts";
import type { PassedRequest } from "./passed-request.ts";
import { answer, refuse } from "./refusal.ts";
import { describe, type Prepared, prepare, prepareBatch } from "./sending/editing.ts";
import type { AskedWhole, Exchange } from "./serving.ts";

/** Forwards a request unedited, and its answer back. `undecided` says why a request for an answer gets no edits. */
export async function pass(asked: Asked, exchange: Exchange, undecided?: PassedRequest["undecided"]): Promise<void> {
	const { ledger, response, route } = exchange;
	ledger.count("passed");
	if (undecided !== undefined && undecided !== "thread") ledger.withoutDecision(undecided);
	const answer = await askOrRefuse(asked, exchange);
	if (!answer) return;
	const isNamed = route.kind === "passed" && route.model !== undefined;
	if (route.kind !== "edited" && !isNamed && !route.isCompaction) {
		await passOn(answer, response);
		return;
	}
	return passAndBillWhole(answer, "bytes" in asked.body ? asked.body.bytes : undefined, exchange, undecided);
}

/** Milliseconds after which planning begins although the answer has not ended. */
const planAfterMs = 100;

/** Sends a request with its known states and the decisions for it. The next edits are planned in the background. */
export async function exchangeEdited(asked: AskedWhole, exchange: Exchange): Promise<void> {
	const { response, ledger, refusesThreads } = exchange;
	const prepared = await prepareOrPass(asked, exchange);
	if (asked.signal.aborted) return;
	if (typeof prepared === "object" && "batch" in prepared) return exchangeBatch(prepared.batch, asked, exchange);
	if (prepared === "thread" && refusesThreads) return answer(response, 400, threadRefusal);
	if (prepared === "thread") ledger.count("threads");
	if (typeof prepared === "string")
		return pass(
			{ ...asked, body: { bytes: asked.body.bytes, decoded: false } },
			exchange,
			prepared === "as_sent" ? undefined : prepared,
		);
	const { composed, conversation } = prepared;
	const over = conversation === undefined ? undefined : exchange.counts?.use(conversation);
	if (over) return refuse(response, { ...over, upstream: exchange.route.upstream });
	if (prepared.isContinued) ledger.withoutDecision("kept_by_provider");
	if (composed?.noDecision) ledger.withoutDecision(composed.noDecision);
	const planAhead = once(() => exchange.inBackground(prepared.planAhead()));
	const timer = setTimeout(planAhead, planAfterMs);
	const endPause = pauseEndedBy(prepared, exchange);
	let answered: AnsweredRequest | undefined;
	try {
		const at = exchange.editing.now();
		const sent = await askWith(asked, composed, exchange);
		if (isGood(sent?.answer)) exchange.proof.isGiven = true;
		// Another form was accepted, in which nothing is asked.
		if (composed?.isDiagnosed && sent?.sent?.isDiagnosed === false && isGood(sent.answer))
			exchange.diagnosis?.refused();
		if (composed?.branch) composed.branch.wasRefused = !isGood(sent?.answer);
		const bill = sent && (await passAndBill(sent, prepared, { asked, exchange }));
		if (bill) answered = { ...bill, ...asAnswered(asked, sent, exchange), at };
		if (bill) exchange.inBackground(askForSummary(asked, prepared, { bill, written: textOf(sent), exchange }));
	} finally {
		endPause?.(answered);
		clearTimeout(timer);
		planAhead();
		if (prepared.tell) exchange.inBackground(prepared.tell());
	}
}

/** A request for an answer ends the pause of its conversation. Only Anthropic's API says how long its cache lives. */
function pauseEndedBy({ conversation }: Prepared<string>, { keepWarm, route }: Exchange) {
	if (conversation === undefined || route.kind !== "edited" || route.upstream !== "anthropic") return undefined;
	return keepWarm?.begin(conversation);
}

function textOf({ sent }: Answered): string | undefined {
	return typeof sent?.written === "string" ? sent.written : undefined;
}

function asAnswered(asked: AskedWhole, { sent }: Answered, { upstream, response, leavesWithConnection }: Exchange) {
	const { socket } = response.req;
	const session = asked.headers["x-claude-code-session-id"];
	return {
		asked: askedFor(asked, sent),
		encoding: asked.headers["content-encoding"],
		upstream,
		session: typeof session === "string" ? session : "",
		isThere: () => !leavesWithConnection || !socket.destroyed,
	};
}

/** Sends a batch with the known states of its conversations. A refused one is sent again as it came. */
async function exchangeBatch(batch: string, asked: AskedWhole, exchange: Exchange): Promise<void> {
	const edited = { ...asked, body: { bytes: Buffer.from(batch), decoded: true } };
	const answer = await askOrRefuse(edited, exchange);
	if (!answer) return;
	if (answer.statusCode !== 400) {
		if ((answer.statusCode ?? 500) < 300) exchange.ledger.count("edited");
		await passOn(answer, exchange.response);
		return;
	}
	await heldAnswer(answer);
	exchange.ledger.count("sent_again");
	return pass({ ...asked, body: { bytes: asked.body.bytes, decoded: false } }, exchange);
}

async function prepareOrPass(
	asked: AskedWhole,
	exchange: Exchange,
): Promise<Prepared<string> | "as_sent" | "thread" | "large" | "no_room" | "no_format" | { readonly batch: string }> {
	const { route, editing, owner, proof, accounts, upstream, recallCommand, log } = exchange;
	const { policy, archive, onFault } = editing;
	try {
		const read = await readRequest(asked.body.bytes, {
			route,
			policy,
			encoding: asked.headers["content-encoding"],
			owner,
			isProved: proof.isGiven,
			recall: archive && policy.archive.recall_hint ? { command: recallCommand } : undefined,
			termsOf: (body) => termsOf(body, route, exchange),
			membersFor: (conversation, body) =>
				route.upstream === "anthropic" ? exchange.diagnosis?.membersFor(conversation, body) : undefined,
			isEnforced: route.api === "anthropic" && accounts.isEnforced(upstream.origin, asked.headers),
			hold: asked.body.hold,
		});
		if (read.kind === "conversation") return await prepare(read.request, editing);
		if (read.kind === "batch") {
			const batch = read.write(await prepareBatch(read.requests, editing));
			return batch === undefined ? "as_sent" : { batch };
		}
		if (read.kind === "as_sent" && read.problem !== undefined) onFault("encoding", read.problem);
		return read.kind;
	} catch (error) {
		if (error instanceof PalimpsestError && error.code === "not_a_conversation") {
			log?.({ level: "warning", message: describe(error), data: { event: "no_format" } });
			return "no_format";
		}
		onFault("failed", describe(error));
		return "as_sent";
	}
}
