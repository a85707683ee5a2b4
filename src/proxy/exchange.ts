import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { once } from "../engine/conversation/lists.ts";
import { PalimpsestError } from "../errors.ts";
import { objectOf, stringAt } from "../formats/json-text/value.ts";
import type { Log } from "../log.ts";
import type { Hold } from "../operations/http/body.ts";
import { mayComeBack, type OutgoingError } from "../operations/http/outgoing.ts";
import type { Accounts } from "./accounts.ts";
import type { CachingRecord } from "./billing/observed-caching.ts";
import { readUsage } from "./billing/read-usage.ts";
import { cacheTerms, servedTerms } from "./billing/terms.ts";
import { firstPass, promptTokens } from "./billing/usage.ts";
import { type Asked, heldAnswer, passOn, type Upstream } from "./forward.ts";
import { readRequest, threadRefusal, withBeta } from "./host-request.ts";
import type { AnsweredRequest, KeepWarm } from "./keep-warm.ts";
import type { Ledger } from "./ledger.ts";
import type { PassedRequest } from "./passed-request.ts";
import { answer, refuse } from "./refusal.ts";
import type { Route } from "./routes.ts";
import { clearingBeta } from "./sending/clearing.ts";
import type { Composed } from "./sending/composed.ts";
import { describe, type Editing, type Prepared, prepare, prepareBatch } from "./sending/editing.ts";
import type { Sent } from "./sending/facts.ts";
import { dropBlocks, isBindingRefusal } from "./sending/reasoning.ts";
import { sendAgain } from "./sending/send-again.ts";

/** The parts that all requests of a proxy share. */
export interface Serving {
	readonly editing: Editing;
	readonly accounts: Accounts;
	readonly caching: CachingRecord;
	readonly ledger: Ledger;
	readonly log: Log | undefined;
	/** Reads an original in a shell when its reference follows. */
	readonly recallCommand: string;
	/** Whether the host was told that it talks to Anthropic itself, so that it may send threads. */
	readonly refusesThreads: boolean;
	/** Absent unless the cache is kept warm. */
	readonly keepWarm: KeepWarm | undefined;
	/** Takes work that no request waits for. */
	readonly inBackground: (work: Promise<void>) => void;
	/** Whether a program is gone once the connection of its last request is closed. */
	readonly leavesWithConnection: boolean;
}

interface Exchange extends Serving {
	readonly response: ServerResponse;
	readonly route: Route;
	readonly upstream: Upstream;
}

type AskedWhole = Omit<Asked, "body"> & {
	readonly body: { readonly bytes: Buffer; readonly hold: Hold };
	readonly headers: IncomingHttpHeaders;
};

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

/** Passes an answer on whose unedited bill is its own. */
async function passAndBillWhole(
	answer: IncomingMessage,
	asked: Buffer | undefined,
	exchange: Exchange,
	undecided?: PassedRequest["undecided"],
): Promise<void> {
	const { ledger, response, route } = exchange;
	const reader = readUsage(answer, route.api);
	await passOn(answer, response, reader.push);
	const usage = await reader.end();
	const isAnswered = (answer.statusCode ?? 500) < 300 && !reader.hasFailed();
	if (!usage && !isAnswered) return;
	const terms = servedTerms(termsOf(asked && parsedBody(asked), route, exchange), reader.served());
	ledger.passed({ usage, terms, program: response.req.headers["user-agent"], undecided });
}

const mostParsedBytes = 4 * 1024 * 1024;

/** For its model and its cache; `undefined` for a body that tells neither. */
function parsedBody(bytes: Buffer): unknown {
	try {
		return bytes.length > mostParsedBytes ? undefined : JSON.parse(bytes.toString("utf8"));
	} catch {
		return undefined;
	}
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
	const { composed } = prepared;
	if (prepared.isContinued) ledger.withoutDecision("kept_by_provider");
	if (composed?.noDecision) ledger.withoutDecision(composed.noDecision);
	const planAhead = once(() => exchange.inBackground(prepared.planAhead()));
	const timer = setTimeout(planAhead, planAfterMs);
	const endPause = pauseEndedBy(prepared, exchange);
	let answered: AnsweredRequest | undefined;
	try {
		const at = exchange.editing.now();
		const sent = await askWith(asked, composed, exchange);
		if (composed?.branch) composed.branch.wasRefused = !isGood(sent?.answer);
		const bill = sent && (await passAndBill(sent, prepared, { asked, exchange }));
		if (bill) answered = { ...bill, ...asAnswered(asked, sent, exchange), at };
	} finally {
		endPause?.(answered);
		clearTimeout(timer);
		planAhead();
	}
}

/** A request for an answer ends the pause of its conversation. Only Anthropic's API says how long its cache lives. */
function pauseEndedBy({ conversation }: Prepared<string>, { keepWarm, route }: Exchange) {
	if (conversation === undefined || route.kind !== "edited" || route.upstream !== "anthropic") return undefined;
	return keepWarm?.begin(conversation);
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
	const { route, editing, accounts, upstream, recallCommand, log } = exchange;
	const { policy, archive, onFault } = editing;
	try {
		const read = await readRequest(asked.body.bytes, {
			route,
			policy,
			encoding: asked.headers["content-encoding"],
			recallCommand: archive && policy.archive.recall_hint ? recallCommand : undefined,
			termsOf: (body) => termsOf(body, route, exchange),
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

function termsOf(body: unknown, route: Route, { editing, caching }: Pick<Serving, "editing" | "caching">) {
	const { api, isRegional = false } = route;
	const model = route.model ?? stringAt(objectOf(body), "model");
	const observed = caching.of(api, model);
	return cacheTerms(body, api, editing.policy.prices, { model, observed, at: editing.now(), isRegional });
}

/** An answer, and the form of the request that it answers. */
interface Answered {
	readonly answer: IncomingMessage;
	readonly sent: (Sent & { readonly asksToDrop: boolean; readonly asksToClear: boolean }) | undefined;
}

async function askWith(
	asked: AskedWhole,
	composed: Composed<string> | undefined,
	exchange: Exchange,
): Promise<Answered | undefined> {
	const answer = await askOrRefuse(askedFor(asked, composed), exchange);
	if (answer?.statusCode !== 400 || !composed) return answer && { answer, sent: composed };
	return askAgain(answer, composed, { asked, exchange });
}

function askedFor(
	asked: AskedWhole,
	form: (Pick<Sent, "written"> & { readonly asksToDrop: boolean; readonly asksToClear: boolean }) | undefined,
): Asked & { readonly body: { readonly bytes: Buffer; readonly decoded: boolean } } {
	const { written } = form ?? {};
	const { body, rawHeaders } = asked;
	const betas = [...(form?.asksToDrop ? [dropBlocks.beta] : []), ...(form?.asksToClear ? [clearingBeta] : [])];
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

/** Claude Code names the subagent of a request, and no main agent. Source: requests of Claude Code 2.1.332. */
function subagentOf({ "x-claude-code-agent-id": agent }: IncomingHttpHeaders): string | undefined {
	return typeof agent === "string" && agent !== "" ? agent : undefined;
}

function isGood(answer: IncomingMessage | undefined): boolean {
	return (answer?.statusCode ?? 500) < 300;
}

/** Returns the bill of an answer to a request for one. */
async function passAndBill(
	{ answer, sent }: Answered,
	{ composed, facts }: Prepared<string>,
	{ asked, exchange }: { readonly asked: AskedWhole; readonly exchange: Exchange },
): Promise<Pick<AnsweredRequest, "terms" | "usage" | "callsTools"> | undefined> {
	const { response, route, ledger, caching, accounts, upstream } = exchange;
	const wasEdited = sent?.written !== undefined;
	const isOk = isGood(answer);
	if (isOk && wasEdited) ledger.count("edited");
	const failed = { kind: "refused", address: upstream.origin, status: answer.statusCode ?? 0 } as const;
	if (!isOk) ledger.failed(failed);
	if (!isOk || route.kind !== "edited") {
		if (isOk && route.isCompaction) await passAndBillWhole(answer, asked.body.bytes, exchange);
		else await passOn(answer, response);
		return undefined;
	}
	const reader = readUsage(answer, route.api);
	await passOn(answer, response, reader.push);
	const usage = await reader.end();
	if (reader.hasDroppedReasoning()) accounts.learn(upstream.origin, asked.headers);
	// The provider may not have billed it.
	if (!usage && reader.hasFailed()) {
		ledger.failed(failed);
		return undefined;
	}
	if (composed?.branch && usage)
		composed.branch.tokensPerChar = promptTokens(firstPass(usage)) / Math.max(1, composed.charsSent());
	const known = await facts(sent);
	const { repeated } = ledger.enter(
		{ ...known, terms: servedTerms(known.terms, reader.served()) },
		{
			api: route.api,
			// What a cut saves of a history that the provider keeps is not known.
			wasEdited: wasEdited && known.conversation !== undefined,
			usage,
			cleared: reader.cleared(),
			program: asked.headers["user-agent"],
			agent: subagentOf(asked.headers),
			decisions: sent?.decided.size,
			noDecision: sent?.noDecision,
		},
	);
	const { caching: terms, model } = known.terms;
	if (usage) caching.learn(route.api, model, { usage, repeated, isExpected: terms !== "not_asked" });
	return { terms: known.terms, usage, callsTools: reader.callsTools() };
}

/** Answers 502 itself if the upstream cannot be reached. */
async function askOrRefuse(
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
