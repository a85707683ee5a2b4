const looks = 10;

/**
 * Calls back once after a time, in ms, in which this process could have heard an answer: while it computes, an answer
 * that has come waits to be read, and a timer that is due comes first. Answers with a function that ends the wait.
 */
export function awakeTimeout(milliseconds: number, act: () => void): () => void {
	let left = looks;
	let last: NodeJS.Immediate | undefined;
	// However long the process was busy, an interval is called once for it.
	const timer = setInterval(() => {
		left -= 1;
		if (left > 0) return;
		clearInterval(timer);
		// What has come by now is read before.
		last = setImmediate(act);
	}, milliseconds / looks);
	return () => {
		clearInterval(timer);
		clearImmediate(last);
	};
}
