import { describe, expect, it } from "vitest";
import { createAccounts } from "../../../src/proxy/accounts.ts";
import { openRedisJournal } from "../../../src/proxy/sending/journal-redis.ts";
import { connectRedis, hasRedis, startRedis } from "../../storage/archive/start-redis.ts";
import { patience } from "../../support/patience.ts";
import { conversation, describeJournal } from "./journal-suite.ts";

const day = 24 * 3_600_000;

describe.runIf(hasRedis)("Redis", async () => {
	const { url } = hasRedis ? await startRedis() : { url: "" };
	let count = 0;
	describeJournal("Redis", async () => {
		count += 1;
		const namespace = `test-${count}`;
		const redis = await connectRedis({ url });
		const key = `palimpsest:states:{${namespace}}:notes:${conversation}`;
		return {
			open: () => openRedisJournal({ url, namespace, maxAgeMs: 30 * day }),
			write: async (line) => {
				await redis.send([["RPUSH", key, line]]);
			},
			lines: async () => String(await redis.send([["LRANGE", key, "0", "-1"]])),
		};
	});

	const openTwo = async (namespace: string) => {
		const open = () => openRedisJournal({ url, namespace, maxAgeMs: 30 * day });
		return [await open(), await open()] as const;
	};
	const wait = () => ({ leftMs: patience.timeout });

	it("tells of the last branches of a conversation: the newest text of each, and three at most", async () => {
		const [one, other] = await openTwo("branches");
		const told = async () =>
			(await other.branches?.read(conversation, wait()))?.map(({ id, messages, text }) => `${id} ${messages} ${text}`);
		const tell = (id: string, messages: number, text: string) =>
			one.branches?.tell(conversation, { id, messages, text }, wait());
		expect(await told()).toEqual([]);
		await tell("a", 5, "first 7\nline");
		await tell("a", 3, "late");
		expect(await told()).toEqual(["a 5 first 7\nline"]);
		await tell("b", 9, "{}");
		await tell("a", 5, "again");
		await tell("c", 1, "{}");
		await tell("d", 1, "{}");
		expect(await told()).toEqual(["d 1 {}", "c 1 {}", "a 5 again"]);
	});

	it("tells every process of an account that checks reasoning, and names neither key nor upstream", async () => {
		const [one, other] = await openTwo("accounts");
		const [first, second] = [createAccounts(undefined, one.accounts), createAccounts(undefined, other.accounts)];
		const headers = { "x-api-key": "sk-of-a-person" };
		expect(await second.isEnforced("https://provider", headers)).toBe(false);
		expect(first.learn("https://provider", headers)).toBe(true);
		await expect.poll(() => second.isEnforced("https://provider", headers)).toBe(true);
		expect(await second.isEnforced("https://provider", { "x-api-key": "another" })).toBe(false);
		const redis = await connectRedis({ url });
		const [keys] = await redis.send([["KEYS", "*"]]);
		expect(String(keys)).toContain("{accounts}:enforced:");
		expect(String(keys)).not.toMatch(/sk-of|provider/);
	});
});
