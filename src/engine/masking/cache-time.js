/**
 * For each message, the pause if a call is made before it; then the same for the end. A call is made when the message before
 * it is there, and keeps the cache for as long as the last record says. Goes by earlier messages alone, so that a longer
 * history says the same.
 */
export function pausesOf({ messages }, calls, seconds) {
	const pauses = [];
	let nextCall = 0;
	let latest;
	let called;
	let lifetime = seconds;
	for (let index = 0; index <= messages.length; index += 1) {
		const message = messages[index];
		const isTimed = called !== undefined && latest !== undefined;
		pauses.push({ seconds: isTimed ? (latest - called) / 1_000 : 0, lifetime });
		if (!message) break;
		if (calls[nextCall] === index) {
			nextCall += 1;
			called = latest ?? message.time;
		}
		lifetime = message.usage?.cacheSeconds ?? lifetime;
		latest = message.endTime ?? message.time ?? latest;
	}
	return pauses;
}
/** For each message, whether the cache is lost by the time that a call is made before it; then the same for the end. */
export function coldMoments(transcript, calls, { seconds, idleSeconds }) {
	const pauses = pausesOf(transcript, calls, seconds);
	const end = pauses.at(-1);
	if (idleSeconds !== undefined) pauses[pauses.length - 1] = { ...end, seconds: calls.length > 0 ? idleSeconds : 0 };
	return Uint8Array.from(pauses, (pause) => (pause.seconds > pause.lifetime ? 1 : 0));
}
/** As the first call of a session recorded it. Later calls may record another, which must not change earlier decisions. */
export function cacheSecondsOf(messages, { cache_seconds }) {
	return messages.find(({ role }) => role === "assistant")?.usage?.cacheSeconds ?? cache_seconds;
}
/** From here on, tokens written to the cache cost as much as for an hour. */
const longerThan = 300;
/** Anthropic's price of a token kept for an hour, 2, by that of one kept for five minutes, 1.25. */
const hourByMinutes = 1.6;
/** The prices with a cache that lasts so long. */
export function pricesFor(prices, cacheSeconds) {
	if (cacheSeconds <= longerThan) return prices;
	const { input, cache_write: minutes, cache_write_hour: given } = prices;
	const hour = given ?? (minutes > input ? minutes * hourByMinutes : minutes);
	return { ...prices, cache_write: hour, cache_write_hour: hour };
}
