import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { objectOf, stringAt } from "../formats/json-text/value.ts";
import type { Answered } from "./ask.ts";
import { readUsage } from "./billing/read-usage.ts";
import { cacheTerms, servedTerms } from "./billing/terms.ts";
import { firstPass, promptTokens } from "./billing/usage.ts";
import { passOn } from "./forward.ts";
import type { AnsweredRequest } from "./keep-warm.ts";
import type { PassedRequest } from "./passed-request.ts";
import type { Route } from "./routes.ts";
import type { Prepared } from "./sending/editing.ts";
import type { AskedWhole, Exchange, Serving } from "./serving.ts";

/** Passes an answer on, and returns its bill if it answers a request for one. */
export async function passAndBill(
	{ answer, sent }: Answered,
	{ composed, facts, conversation }: Prepared<string>,
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
	const { id, missReason } = reader.diagnosed();
	if (conversation !== undefined) exchange.diagnosis?.answered(conversation, id);
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
			project: exchange.project,
			agent: subagentOf(asked.headers),
			decisions: sent?.decided.size,
			noDecision: sent?.noDecision,
			missReason,
		},
	);
	const { caching: terms, model } = known.terms;
	if (usage) caching.learn(route.api, model, { usage, repeated, isExpected: terms !== "not_asked" });
	return { terms: known.terms, usage, callsTools: reader.callsTools() };
}

/** Passes an answer on whose unedited bill is its own. */
export async function passAndBillWhole(
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
	const program = response.req.headers["user-agent"];
	ledger.passed({ usage, terms, program, project: exchange.project, undecided });
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

/** What the cache of a request's model costs. */
export function termsOf(body: unknown, route: Route, { editing, caching }: Pick<Serving, "editing" | "caching">) {
	const { api, isRegional = false } = route;
	const model = route.model ?? stringAt(objectOf(body), "model");
	const observed = caching.of(api, model);
	return cacheTerms(body, api, editing.policy.prices, { model, observed, at: editing.now(), isRegional });
}

/** Claude Code names the subagent of a request, and no main agent. Source: requests of Claude Code 2.1.332. */
function subagentOf({ "x-claude-code-agent-id": agent }: IncomingHttpHeaders): string | undefined {
	return typeof agent === "string" && agent !== "" ? agent : undefined;
}

export function isGood(answer: IncomingMessage | undefined): boolean {
	return (answer?.statusCode ?? 500) < 300;
}
