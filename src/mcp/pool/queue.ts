export interface Entry<Job> {
	/** Owners take turns. */
	readonly owner: string;
	/** Whoever waits for one place at a time: a session, or an owner without sessions. */
	readonly caller: string;
	readonly bytes: number;
	readonly job: Job;
}

interface Limits {
	readonly jobs: number;
	readonly bytes: number;
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
 * An empty queue: owners take turns, and the jobs of one owner keep their order. A refused caller keeps its place: nobody
 * who comes later gets in before it, unless it stays away.
 */
export function createFairQueue<Job>(limits: Limits, now: () => number) {
	// An owner who has had a turn goes to the end; one without jobs is not here.
	const owners = new Map<string, Entry<Job>[]>();
	/** The refused callers of each owner, in order, and when the place of each is lost. */
	const refused = new Map<string, Map<string, number>>();
	let [jobs, bytes] = [0, 0];
	const count = (entry: Entry<Job>, change: 1 | -1): void => {
		jobs += change;
		bytes += change * entry.bytes;
	};
	const forget = (owner: string, caller: string): void => {
		const own = refused.get(owner);
		if (own?.delete(caller) && own.size === 0) refused.delete(owner);
	};
	/** How many refused callers come before one: the first of each owner, then the second of each. */
	const ahead = ({ owner, caller }: Entry<Job>): number => {
		const at = now();
		for (const [name, own] of [...refused]) for (const [one, until] of [...own]) if (until < at) forget(name, one);
		const own = [...(refused.get(owner)?.keys() ?? [])];
		const place = own.includes(caller) ? own.indexOf(caller) : own.length;
		const isBefore = [...refused.keys()].indexOf(owner);
		return [...refused].reduce((sum, [name, callers], order) => {
			if (name === owner) return sum + place;
			return sum + Math.min(callers.size, isBefore === -1 || order < isBefore ? place + 1 : place);
		}, 0);
	};
	return {
		/** Adds a job, and returns 0; or refuses it, and returns how many have to leave the queue before it gets in. */
		add(entry: Entry<Job>, { isAdmitted }: { readonly isAdmitted: boolean }): number {
			const before = isAdmitted ? 0 : ahead(entry);
			const isOver = jobs + before >= limits.jobs || (jobs > 0 && bytes + entry.bytes > limits.bytes);
			if (isOver && !isAdmitted) return Math.max(1, jobs + before - limits.jobs + 1);
			forget(entry.owner, entry.caller);
			owners.set(entry.owner, [...(owners.get(entry.owner) ?? []), entry]);
			count(entry, 1);
			return 0;
		},
		/** Keeps the place of a refused caller until it is to come again. */
		keepPlace({ owner, caller }: Entry<Job>, waitMs: number): void {
			const own = refused.get(owner) ?? new Map<string, number>();
			if (own.has(caller) || own.size < mostKept) own.set(caller, now() + 2 * waitMs + lateMs);
			refused.set(owner, own);
		},
		remove(entry: Entry<Job>): void {
			const own = owners.get(entry.owner) ?? [];
			const rest = own.filter((one) => one !== entry);
			if (rest.length === own.length) return;
			if (rest.length === 0) owners.delete(entry.owner);
			else owners.set(entry.owner, rest);
			count(entry, -1);
		},
		next(): Entry<Job> | undefined {
			const [turn] = owners;
			if (turn === undefined) return undefined;
			const [owner, [first, ...rest]] = turn;
			owners.delete(owner);
			if (rest.length > 0) owners.set(owner, rest);
			if (first) count(first, -1);
			return first;
		},
		size: () => jobs,
	};
}
