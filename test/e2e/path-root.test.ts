import { expect, it } from "vitest";
import { stdioSession } from "../support/stdio-session.ts";

it("a server started in the root of the file system does not allow every file", async () => {
	const session = await stdioSession({ folder: "/" });
	const answer = await session.call("truncate_output", { path: "/etc/hostname" });
	expect(answer.isError).toBe(true);
	expect(JSON.stringify(answer.content)).toContain("[path_not_allowed]");
});
