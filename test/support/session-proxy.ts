import { providerCompaction } from "../../src/engine/compaction/provider-block.ts";
import type { Policy } from "../../src/engine/policy/schema.ts";
import { PalimpsestError } from "../../src/errors.ts";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import { readRequest } from "../../src/proxy/host-request.ts";
import { clearingBeta } from "../../src/proxy/sending/clearing.ts";
import type { Variant } from "../../src/proxy/sending/composed.ts";
import { type Editing, type HeldLimits, openEditing, prepare } from "../../src/proxy/sending/editing.ts";
import type { Journal } from "../../src/proxy/sending/journal.ts";
import { type Plan, planNext } from "../../src/proxy/sending/plan.ts";
import { dropBlocks, isBindingRefusal } from "../../src/proxy/sending/reasoning.ts";
import { sendAgain } from "../../src/proxy/sending/send-again.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { patience } from "./patience.ts";
import type { Received } from "./session-upstream.ts";
import type { Json } from "./thinking-session.ts";

export type PlannerFault = "none" | "throws" | "never_ends" | "is_late";

/** Faults that are there now. */
export interface Faults {
	archive: boolean;
	memory: boolean;
	planner: PlannerFault;
}

/** What the upstream took, or the refusal that the client sees. */
export interface Outcomes {
	/** The accepted text; `undefined` if none was. */
	readonly text: string | undefined;
	readonly received: Received;
	/** Requests that the upstream refused. */
	readonly refusals: number;
	readonly asksToDrop: boolean;
	/** Whether it was sent as the host sent it after another form was refused. */
	readonly isOwn: boolean;
}

/** Processes of the proxy on one memory folder, without HTTP, with faults. */
export function createSessionProxy(what: {
	readonly policy: Policy;
	readonly archive: Archive;
	readonly folder: string;
	readonly now: () => number;
	readonly holdout: number;
	/** Given: between requests nothing stays in memory but what these limits allow. */
	readonly limits?: HeldLimits | undefined;
	/** The journal of a process on another machine. Absent: all are in the folder. */
	readonly journal?: (() => Promise<Journal>) | undefined;
}) {
	const { archive, folder, now, policy, holdout, limits, journal } = what;
	const faults: Faults = { archive: false, memory: false, planner: "none" };
	const seen = { faults: new Map<string, number>(), late: 0 };
	const waiting: (() => void)[] = [];
	const underWay = new Set<Promise<void>>();
	let hasHung = false;
	let hasLearnt = false;

	const failing: Archive = {
		...archive,
		put: async (...given) => {
			if (faults.archive) throw new PalimpsestError("archive_unavailable", "The archive is away.");
			return archive.put(...given);
		},
	};
	const planner: Editing["planner"] = async (planning) => {
		if (faults.planner === "throws") throw new Error("A plan fails.");
		if (faults.planner === "never_ends") {
			hasHung = true;
			return new Promise<Plan>(() => {});
		}
		const isLate = faults.planner === "is_late";
		const plan = await planNext(planning);
		if (isLate) await new Promise<void>((resolve) => waiting.push(resolve));
		return plan;
	};

	return {
		faults,
		seen,
		/** A process on the same folder as the others. */
		async open(): Promise<Editing> {
			const onFault: Editing["onFault"] = (fault) => seen.faults.set(fault, (seen.faults.get(fault) ?? 0) + 1);
			const place = { memoryFolder: journal ? undefined : folder, journal: await journal?.() };
			const shared = { policy, archive: failing, ...place, holdout, now, planner, onFault };
			const editing = await openEditing({
				...shared,
				worked: () => 0,
				limits: { ...limits, patienceMs: patience.timeout },
			});
			const note: typeof editing.memory.note = async (...given) => {
				if (faults.memory) throw new PalimpsestError("archive_unavailable", "The disk is full.");
				return editing.memory.note(...given);
			};
			return { ...editing, memory: { ...editing.memory, note } };
		},
		/** Late plans are done now. */
		releasePlans(): void {
			seen.late += waiting.length;
			for (const resolve of waiting.splice(0)) resolve();
		},
		/** Resolves when nothing is planned beside the requests, but for what never ends. */
		async settle(): Promise<void> {
			for (let step = 0; underWay.size > 0 && (!hasHung || step < 30); step += 1) {
				this.releasePlans();
				await new Promise((resolve) => setImmediate(resolve));
			}
		},
		async send(
			editing: Editing,
			text: string,
			{
				counts,
				betas,
				ask,
				waits,
			}: {
				readonly counts: boolean;
				readonly betas: readonly string[];
				readonly ask: (body: Json, betas: readonly string[], text: string) => Promise<Received>;
				readonly waits: boolean;
			},
		): Promise<Outcomes> {
			const read = await readRequest(Buffer.from(text), {
				route: { upstream: "anthropic", api: "anthropic", kind: counts ? "counted" : "edited" },
				policy,
				encoding: undefined,
				hold: { take: () => true, takeInTurn: async () => true },
				recall: { command: "palimpsest recall" },
				termsOf: (body) => cacheTerms(body, "anthropic", policy.prices),
				isEnforced: hasLearnt,
			});
			if (read.kind !== "conversation") throw new Error("A conversation was expected.");
			const { composed, planAhead, tell } = await prepare(read.request, editing);
			let refusals = 0;
			let last = text;
			const askFor = async (
				form: Pick<Variant<string>, "written" | "asksToDrop" | "asksToClear" | "block"> | undefined,
			): Promise<Received> => {
				last = form?.written ?? text;
				const added =
					form?.written === undefined
						? []
						: [
								form.asksToDrop && dropBlocks.beta,
								form.asksToClear && clearingBeta,
								form.block !== undefined && providerCompaction.beta,
							];
				const given = new Set([...betas, ...added.filter((beta) => beta !== false)]);
				const received = await ask(JSON.parse(last) as Json, [...given], last);
				refusals += Number(received.kind === "refused");
				return received;
			};
			let received = await askFor(composed);
			let [asksToDrop, isOwn] = [composed?.asksToDrop === true, false];
			if (received.kind === "refused" && composed) {
				const refusal = received;
				const isBinding = isBindingRefusal(refusal.headers, refusal.message);
				hasLearnt ||= isBinding;
				const form = await sendAgain<string>(composed, isBinding ? "reasoning" : "something_else", async (one) => {
					received = await askFor(one);
					if (received.kind === "accepted") return "accepted";
					return isBindingRefusal(received.headers, received.message) ? "reasoning" : "something_else";
				});
				if (typeof form === "string") received = refusal;
				else [asksToDrop, isOwn] = [form.asksToDrop, form.written === undefined];
			}
			if (composed?.branch && received.kind === "accepted") composed.branch.tokensPerChar = 0.3;
			if (composed?.branch) composed.branch.wasRefused = received.kind !== "accepted";
			for (const work of [planAhead(), tell?.() ?? Promise.resolve()]) {
				underWay.add(work);
				void work.finally(() => underWay.delete(work));
			}
			if (limits) editing.histories.rest();
			if (waits && faults.planner !== "is_late") await this.settle();
			return { text: received.kind === "accepted" ? last : undefined, received, refusals, asksToDrop, isOwn };
		},
	};
}

export type SessionProxy = ReturnType<typeof createSessionProxy>;
