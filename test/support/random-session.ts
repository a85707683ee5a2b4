import type { Editing, HeldLimits } from "../../src/proxy/sending/editing.ts";
import type { Journal } from "../../src/proxy/sending/journal.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { createRandom, pick } from "../bench/random.ts";
import { enforcementOf } from "./claude-models.ts";
import { clearingNames } from "./clearing-oracle.ts";
import { bodyOf, type HostBlock, type HostMessage, resultsIn, spelled, withoutThinking } from "./host-history.ts";
import { signFromStart } from "./preserved-thinking.ts";
import { createAnswers, isAskingTool, written } from "./random-answers.ts";
import { chooseSession, models } from "./session-choices.ts";
import { countedNames, createSessionOracle, type OracleCounts } from "./session-oracle.ts";
import { createSessionProxy, type PlannerFault } from "./session-proxy.ts";
import { createSessionUpstream, type Received } from "./session-upstream.ts";
import type { Json } from "./thinking-session.ts";

export const happenings = [
	"sessions",
	"answers",
	"parallel_answers",
	"asked",
	"forks",
	"rewinds",
	"resumes",
	"switches",
	"pauses",
	"host_rewrites",
	"compactions",
	"user_messages",
	"counted",
	"archive_faults",
	"memory_faults",
	"planner_throws",
	"planner_never_ends",
	"planner_is_late",
	"refused_for_reasoning",
	"refused_for_something_else",
	"hosts_own_refusals",
	"drop_blocks",
	"held_out",
	"models_changed",
	"repeated_requests",
	"requests_at_once",
	"archived",
] as const;

export type SessionCounts = Record<(typeof happenings)[number], number> & OracleCounts;

/** Counts of what random sessions did, from 0. */
export function noCounts(): SessionCounts {
	return Object.fromEntries(
		[...happenings, ...countedNames, ...clearingNames].map((name) => [name, 0]),
	) as SessionCounts;
}

interface Branch {
	history: HostMessage[];
}

/** Instances on several machines, each request to one of them. Nothing fails, and each request is planned on before the next comes. */
export interface Fleet {
	readonly instances: number;
	readonly journal: () => Promise<Journal>;
	/** Takes each request as the provider was sent it. */
	readonly onSent: (text: string) => void;
}

const minute = 60_000;

/**
 * Every request is known again by a mark, and every state by its file. States that could not be written stay: a process that lets
 * them go has forgotten the conversation.
 */
const nothingHeld: HeldLimits = {
	histories: { mostChars: 0, mostMarkBytes: 10_000_000, heldForMs: -1 },
	memory: { mostConversations: 1, mostChars: 1_000_000 },
	waitingChars: 0,
};

/**
 * Plays a session of an agent program that does at random what such programs do, through the proxy and, in a second world,
 * without it. Throws where the proxy breaks a rule; `seed` repeats the session.
 */
export async function playRandomSession(
	seed: number,
	folder: string,
	{
		counts,
		by,
		fleet,
	}: {
		readonly counts: SessionCounts;
		readonly by: "palimpsest" | "provider";
		readonly fleet?: Fleet | undefined;
	},
): Promise<void> {
	const random = createRandom(seed);
	const chance = (share: number) => random() < share;
	const upTo = (most: number) => Math.floor(random() * (most + 1));

	const choices = chooseSession(random, by);
	if (fleet) {
		Object.assign(choices.host, { hasFaults: false, resumes: false, isTwofold: false, waits: true });
		signFromStart();
	}
	const { account, behaviour, bringsBinding, isGateway, refusesClearing, form, sentBetas, host, turns, policy } =
		choices;
	let { model } = choices;

	let time = fleet ? Date.UTC(2026, 0, 1) : Date.now();
	const archive = (await openArchive({ where: "memory" })) as Archive;
	const limits = seed % 2 === 1 ? nothingHeld : undefined;
	const proxy = createSessionProxy({
		policy,
		archive,
		folder,
		now: () => time,
		holdout: host.isHeldOut ? 1 : 0,
		limits,
		journal: fleet?.journal,
	});
	const real = createSessionUpstream({ account, isGateway, refusesClearing });
	const mirror = createSessionUpstream({ account, isGateway, refusesClearing });
	const oracle = createSessionOracle(counts);
	const processes: Editing[] = [await proxy.open()];
	if (host.isTwofold) processes.push(await proxy.open());
	while (fleet && processes.length < fleet.instances) processes.push(await proxy.open());

	let [request, orders] = [0, 0];
	let hasForgotten = false;
	let lastProcess: Editing | undefined;
	const text = (words: string): HostBlock => ({ kind: "text", text: words });
	const start: HostMessage[] = [{ role: "user", blocks: [text(`Do the task ${seed}.`)] }];
	if (form.alternatesSystem) start.push({ role: "system", blocks: [text("The folder is the project's.")] });
	const branches: Branch[] = [{ history: start }];
	const answers = createAnswers(random, { seed, hasShortIds: host.hasShortIds });
	const refusedForms = new Map<string, number>();
	counts.sessions += 1;
	counts.held_out += Number(host.isHeldOut);

	for (let turn = 0; turn < turns; turn += 1) {
		const branch = pick(random, branches);
		await happen(branch);
		if (chance(0.1)) {
			counts.counted += 1;
			await send(branch, true);
		}
		const other = pick(random, branches);
		if (other !== branch && !host.isRefused && !fleet && chance(0.4)) {
			counts.requests_at_once += 1;
			const both = await Promise.all([attempt(branch, false), attempt(other, false)]);
			const again: Branch[] = [];
			const leftOut = new Set<number>();
			for (const one of both.toSorted((a, b) => a.order - b.order)) {
				if ((await one.finish(leftOut)) === "again") again.push(one.branch);
			}
			for (const one of again) await send(one, false);
		} else await send(branch, false);
	}
	proxy.faults.memory = false;
	proxy.faults.archive = false;
	proxy.faults.planner = "none";
	await proxy.settle();
	await send(branches[0] as Branch, false);
	await proxy.settle();
	if (fleet) for (const process of processes) await process.memory.close();
	// A cut is sent before its original is archived, but it is archived once the archive is there.
	for (const original of oracle.replacedIn((branches[0] as Branch).history)) {
		counts.archived += 1;
		if (!(await archive.has(archive.refOf(original)))) throw new Error("An original is not in the archive.");
	}

	async function happen(branch: Branch): Promise<void> {
		const { history } = branch;
		const ends = history.flatMap(({ role }, index) => (role === "user" && index > 0 ? [index + 1] : []));
		if (host.forks && chance(0.1) && branches.length < 3 && ends.length > 0) {
			counts.forks += 1;
			// A person goes on with other words.
			branches.push({ history: say(history.slice(0, pick(random, ends)), `Otherwise ${turnName()}.`) });
		}
		if (host.rewinds && chance(0.12) && ends.length > 1) {
			counts.rewinds += 1;
			branch.history = say(history.slice(0, pick(random, ends)), `Back, and otherwise ${turnName()}.`);
		} else if (chance(0.12)) {
			counts.user_messages += 1;
			branch.history = say(history, `Note ${turnName()}.`);
		}
		if (host.rewrites && chance(0.12)) rewrite(branch);
		if (host.compacts && chance(0.08) && ends.length > 4) compact(branch);
		if (host.pauses && chance(0.12)) {
			counts.pauses += 1;
			time += pick(random, [6, 90]) * minute;
		} else time += upTo(20) * 1_000;
		if (host.resumes && chance(0.1)) {
			counts.resumes += 1;
			hasForgotten ||= proxy.faults.memory;
			if (chance(0.7)) await proxy.settle();
			processes[upTo(processes.length - 1)] = await proxy.open();
		}
		if (host.hasFaults) changeFaults();
		if (host.changesModel && chance(0.15)) {
			counts.models_changed += 1;
			model = pick(random, models);
		}
		if (chance(0.5)) proxy.releasePlans();
	}

	function changeFaults(): void {
		if (chance(0.15)) {
			proxy.faults.archive = !proxy.faults.archive;
			counts.archive_faults += Number(proxy.faults.archive);
		}
		if (chance(0.15)) {
			proxy.faults.memory = !proxy.faults.memory;
			counts.memory_faults += Number(proxy.faults.memory);
		}
		if (!chance(0.15)) return;
		// A request after a pause may wait for its plan.
		const slow: PlannerFault[] = host.pauses ? [] : ["is_late", "never_ends"];
		const kinds: PlannerFault[] = ["none", "throws", ...slow];
		const fault = pick(random, kinds);
		proxy.faults.planner = fault;
		if (fault !== "none") counts[`planner_${fault}`] += 1;
	}

	function turnName(): string {
		return `${request}-${upTo(1_000)}`;
	}

	function say(history: readonly HostMessage[], words: string): HostMessage[] {
		const last = history.at(-1);
		if (last?.role !== "user") return [...history, { role: "user", blocks: [text(words)] }];
		return [...history.slice(0, -1), { ...last, blocks: [...last.blocks, text(words)] }];
	}

	/** As Gemini CLI does: an old result becomes a shorter one. */
	function rewrite(branch: Branch): void {
		const old = resultsIn(branch.history).slice(0, -2);
		if (old.length === 0) return;
		counts.host_rewrites += 1;
		const { message, result } = pick(random, old);
		const shorter = {
			...result,
			content: `The host has left ${JSON.stringify(result.content).length} characters out.`,
		};
		const changed = branch.history.map((one, index) =>
			index === message ? { ...one, blocks: one.blocks.map((block) => (block === result ? shorter : block)) } : one,
		);
		branch.history = host.isCareful ? withoutThinking(changed, message) : changed;
	}

	/** The start goes, a summary comes, and the last turns stay. */
	function compact(branch: Branch): void {
		const answers = branch.history.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
		const from = answers.at(-2 - upTo(2));
		if (from === undefined) return;
		counts.compactions += 1;
		const kept = branch.history.slice(from);
		const summary: HostMessage = { role: "user", blocks: [text(`The story so far ${turnName()}.`)] };
		branch.history = [summary, ...(host.isCareful ? withoutThinking(kept) : kept)];
	}

	async function send(branch: Branch, onlyCounts: boolean): Promise<void> {
		const { finish } = await attempt(branch, onlyCounts);
		if ((await finish()) === "again") await send(branch, onlyCounts);
	}

	/** Sends a request. What comes of it is checked, and becomes part of the history, with `finish`. */
	async function attempt(branch: Branch, onlyCounts: boolean) {
		request += 1;
		const { history } = branch;
		const of = { request, counts: onlyCounts };
		const mirrored = mirror.receive(
			JSON.parse(spelled(bodyOf(history, { ...form, model }, { ...of, signed: mirror.signed }))) as Json,
			sentBetas,
		);
		const hostBody = bodyOf(history, { ...form, model }, { ...of, signed: real.signed });
		const hostText = spelled(hostBody);
		const process = pick(random, processes);
		counts.switches += Number(process !== lastProcess && lastProcess !== undefined);
		lastProcess = process;
		let order: number | undefined;
		const outcomes = await proxy.send(process, hostText, {
			counts: onlyCounts,
			betas: sentBetas,
			ask: async (body, given, text) => {
				fleet?.onSent(text);
				order ??= ++orders;
				const received = ask(body, given, history);
				if (branches.length > 1) await new Promise((resolve) => setImmediate(resolve));
				return received;
			},
			waits: host.waits || chance(0.3),
		});
		return { branch, order: order ?? 0, finish };

		async function finish(leftOutMeanwhile = new Set<number>()): Promise<"again" | undefined> {
			const isHostsFault = mirrored.kind === "refused";
			counts.hosts_own_refusals += Number(isHostsFault);
			if (outcomes.received.kind === "refused" && !isHostsFault) {
				throw new Error(`A request failed that succeeds without the proxy: ${outcomes.received.message}`);
			}
			counts.drop_blocks += Number(outcomes.asksToDrop && outcomes.text !== undefined);
			const answer = onlyCounts ? [] : answers.answerOf();
			counts.parallel_answers += Number(answer.filter(({ kind }) => kind === "call").length > 1);
			counts.asked += answer.filter((block) => block.kind === "call" && isAskingTool(block.name)).length;
			const numbers = answer.flatMap((block) => (block.kind === "thinking" ? [block.number] : []));
			if (outcomes.text !== undefined && outcomes.received.kind === "accepted") {
				const enforcement = enforcementOf(model);
				const isHandled =
					enforcement === "everyone" || (enforcement === "newer" && (account === "newer" || bringsBinding));
				// The API leaves out what is invalid where it is asked to, so it may be sent.
				const drops = outcomes.asksToDrop || (bringsBinding && behaviour === "drop_block");
				const isChecked = isHandled && !drops;
				if (!onlyCounts) real.answer(outcomes.received.accepted, written(answer), numbers);
				const out = oracle.check({
					branch,
					history,
					hasShortIds: host.hasShortIds,
					isMemoryAway: proxy.faults.memory,
					hasForgotten,
					hostBody,
					hostText,
					text: outcomes.text,
					counts: onlyCounts,
					asksToDrop: outcomes.asksToDrop,
					isOwn: outcomes.isOwn,
					isChecked,
					leavesOutUnasked:
						policy.thinking === "strip_after_edit" ||
						(policy.thinking === "auto" && (bringsBinding || enforcement === "everyone")),
					isUnknown: outcomes.asksToDrop || (host.changesModel && !isChecked),
					isHostsFault,
					process,
					leftOutMeanwhile,
					answer: numbers,
					model,
					numberOf: real.numberOf,
				});
				if (outcomes.refusals > 0) for (const number of out) leftOutMeanwhile.add(number);
				if (host.isHeldOut && outcomes.text !== hostText)
					throw new Error("A conversation that is held out was edited.");
			}
			if (mirrored.kind === "refused") {
				// As Claude Code does.
				branch.history = withoutThinking(history);
				if (branch.history.every((message, index) => message === history[index]))
					throw new Error(`The host is wrong: ${mirrored.message}`);
				return "again";
			}
			if (onlyCounts || outcomes.text === undefined) return undefined;
			if (host.repeats && chance(0.1)) {
				// The answer was lost on its way.
				counts.repeated_requests += 1;
				return "again";
			}
			mirror.answer(mirrored.accepted, written(answer), numbers);
			counts.answers += 1;
			branch.history = [...history, { role: "assistant", blocks: answer }, answers.next(answer)];
			return undefined;
		}
	}

	function ask(body: Json, given: readonly string[], history: readonly HostMessage[]): Received {
		const isRefused = host.isRefused && refusesForm(body, history);
		const something: Received = { kind: "refused", message: "messages: something in it is not permitted", headers: {} };
		const received = isRefused && host.isRefusedFirst ? something : real.receive(body, given);
		const last = isRefused && received.kind === "accepted" ? something : received;
		if (last.kind === "refused") {
			oracle.refused(history, body);
			counts[
				last.message.includes("different conversation") ? "refused_for_reasoning" : "refused_for_something_else"
			] += 1;
		}
		return last;
	}

	/** An upstream that does not like some new forms, for a few requests. */
	function refusesForm(body: Json, history: readonly HostMessage[]): boolean {
		const hosts = new Set(resultsIn(history).map(({ result }) => JSON.stringify(result.content)));
		let refuses = false;
		for (const { content } of body.messages as { content: unknown }[]) {
			for (const block of Array.isArray(content) ? (content as Json[]) : []) {
				const sent = JSON.stringify(block.content);
				if (block.type !== "tool_result" || hosts.has(sent)) continue;
				const left = refusedForms.get(sent) ?? (chance(0.2) ? 1 + upTo(4) : 0);
				refusedForms.set(sent, Math.max(0, left - 1));
				refuses ||= left > 0;
			}
		}
		return refuses;
	}
}
