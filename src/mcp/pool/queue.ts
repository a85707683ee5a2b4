export interface Entry<Job> {
	/** Owners take turns. */
	readonly owner: string;
	/** The callers of an owner take turns: a session, or an owner without sessions. */
	readonly caller: string;
	readonly bytes: number;
	readonly job: Job;
}

interface Limits {
	/** One job of each caller waits beyond it: a caller that was sent away comes too late where the pace changes. */
	readonly jobs: number;
	readonly bytes: number;
}

interface Refused {
	readonly bytes: number;
	/** When its place is lost. */
	readonly until: number;
}

/** How long a caller may come later than it was told, in ms, on top of as long as it was told to wait: its place then goes to the next. */
const lateMs = 2_000;
const mostKept = 10_000;

/** In ms, when a refused caller is to come again: when so many have left the queue, at the pace of late. */
export function createPace(now: () => number) {
	// The first calls wait for threads that start, so that one call changes the pace by an eighth at most.
	let each = 10;
	let lastAt: number | undefined;
	return {
		/** To be called when a job has ended; without others that wait, the time to the next end says nothing. */
		ended(areOthersWaiting: boolean): void {
			const at = now();
			if (lastAt !== undefined) each += (Math.min(at - lastAt, 2 * each) - each) / 8;
			lastAt = areOthersWaiting ? at : undefined;
		},
		waitFor: (ahead: number): number => Math.round(Math.min(Math.max(each * ahead, 100), 60_000)),
	};
}

/**
 * An empty queue: owners take turns, then the callers of each, and the jobs of one caller keep their order. A refused caller
 * keeps its place: nobody who comes later gets in before it, unless it stays away.
 */
export function createFairQueue<Job>(limits: Limits, now: () => number) {
	// Whoever has had a turn goes to the end; one without jobs is not here.
	const owners = new Map<string, Map<string, Entry<Job>[]>>();
	/** The refused callers of each owner, in order. */
	const refused = new Map<string, Map<string, Refused>>();
	let [jobs, bytes] = [0, 0];
	const count = (entry: Entry<Job>, change: 1 | -1): void => {
		jobs += change;
		bytes += change * entry.bytes;
	};
	const setJobs = ({ owner, caller }: Entry<Job>, own: readonly Entry<Job>[]): void => {
		const callers = owners.get(owner) ?? new Map<string, Entry<Job>[]>();
		if (own.length > 0) callers.set(caller, [...own]);
		else callers.delete(caller);
		if (callers.size > 0) owners.set(owner, callers);
		else owners.delete(owner);
	};
	const jobsOf = ({ owner, caller }: Entry<Job>) => owners.get(owner)?.get(caller) ?? [];
	const forget = (owner: string, caller: string): void => {
		const own = refused.get(owner);
		if (own?.delete(caller) && own.size === 0) refused.delete(owner);
	};
	/** The refused callers that come before one: the first of each owner, then the second of each. */
	const ahead = ({ owner, caller }: Entry<Job>): readonly Refused[] => {
		const at = now();
		for (const [name, own] of [...refused]) {
			for (const [one, { until }] of [...own]) if (until < at) forget(name, one);
		}
		const own = [...(refused.get(owner)?.keys() ?? [])];
		const place = own.includes(caller) ? own.indexOf(caller) : own.length;
		const isBefore = [...refused.keys()].indexOf(owner);
		return [...refused].flatMap(([name, callers], order) => {
			const isFirst = name !== owner && (isBefore === -1 || order < isBefore);
			return [...callers.values()].slice(0, isFirst ? place + 1 : place);
		});
	};
	return {
		/** Adds a job, and returns 0; or refuses it, and returns how many have to leave the queue before it gets in. */
		add(entry: Entry<Job>, { isAdmitted }: { readonly isAdmitted: boolean }): number {
			const own = jobsOf(entry);
			const before = isAdmitted ? [] : ahead(entry);
			const bytesBefore = before.reduce((sum, one) => sum + one.bytes, bytes);
			const isOverJobs = own.length > 0 && jobs + before.length >= limits.jobs;
			const isOverBytes = jobs + before.length > 0 && bytesBefore + entry.bytes > limits.bytes;
			if (!isAdmitted && (isOverJobs || isOverBytes))
				return Math.max(1, before.length, jobs + before.length - limits.jobs + 1);
			forget(entry.owner, entry.caller);
			setJobs(entry, [...own, entry]);
			count(entry, 1);
			return 0;
		},
		/** Keeps the place of a refused caller until it is to come again. */
		keepPlace({ owner, caller, bytes }: Entry<Job>, waitMs: number): void {
			const own = refused.get(owner) ?? new Map<string, Refused>();
			if (own.has(caller) || own.size < mostKept) own.set(caller, { bytes, until: now() + 2 * waitMs + lateMs });
			refused.set(owner, own);
		},
		remove(entry: Entry<Job>): void {
			const own = jobsOf(entry);
			if (!own.includes(entry)) return;
			setJobs(
				entry,
				own.filter((one) => one !== entry),
			);
			count(entry, -1);
		},
		next(): Entry<Job> | undefined {
			for (const [owner, callers] of owners) {
				for (const [caller, [first, ...rest]] of callers) {
					if (!first) continue;
					callers.delete(caller);
					owners.delete(owner);
					if (callers.size > 0) owners.set(owner, callers);
					setJobs(first, rest);
					count(first, -1);
					return first;
				}
			}
			return undefined;
		},
		size: () => jobs,
	};
}
