/** Jobs that wait, of several owners. */
export interface FairQueue<Job> {
	/** Takes a job in; false where it would be over a ceiling. One that is `admitted` is taken in any case. */
	add(entry: Entry<Job>, how: { readonly isAdmitted: boolean }): boolean;
	/** Takes a job out before its turn. */
	remove(entry: Entry<Job>): void;
	/** Takes out the job whose turn it is; `undefined` where none waits. */
	next(): Entry<Job> | undefined;
	size(): number;
}

/** A job that waits. */
export interface Entry<Job> {
	readonly owner: string;
	readonly bytes: number;
	readonly job: Job;
}

/** Most that waits. */
export interface FairQueueLimits {
	readonly jobs: number;
	readonly bytes: number;
}

/** Makes an empty queue: owners take turns, and the jobs of one come in the order in which they were added. */
export function createFairQueue<Job>(limits: FairQueueLimits): FairQueue<Job> {
	// An owner who has had a turn goes to the end; one without jobs is not there.
	const owners = new Map<string, Entry<Job>[]>();
	let [jobs, bytes] = [0, 0];

	const count = (entry: Entry<Job>, change: 1 | -1): void => {
		jobs += change;
		bytes += change * entry.bytes;
	};
	return {
		add(entry, { isAdmitted }) {
			const isOver = jobs >= limits.jobs || (jobs > 0 && bytes + entry.bytes > limits.bytes);
			if (isOver && !isAdmitted) return false;
			owners.set(entry.owner, [...(owners.get(entry.owner) ?? []), entry]);
			count(entry, 1);
			return true;
		},
		remove(entry) {
			const own = owners.get(entry.owner) ?? [];
			const rest = own.filter((one) => one !== entry);
			if (rest.length === own.length) return;
			if (rest.length === 0) owners.delete(entry.owner);
			else owners.set(entry.owner, rest);
			count(entry, -1);
		},
		next() {
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
