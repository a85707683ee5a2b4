import { convexAgent } from "../../../src/formats/wrapped.ts";
import type { JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { row as vercelModel } from "./vercel-model.ts";

const wrap = (message: JsonMessage, order: number): JsonMessage => ({
	_id: `m${order}`,
	threadId: "t1",
	order,
	stepOrder: 0,
	tool: message.role === "tool",
	message,
});

/** Documents of the agent component of Convex around messages of the Vercel AI SDK. */
export const row: FormatRow = {
	...vercelModel,
	format: convexAgent,
	write: (entries) => vercelModel.write(entries).map(wrap),
	contents: (documents) => vercelModel.contents(documents.map(({ message }) => message as JsonMessage)),
	key: "page",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	timed: (document, time) => ({ ...document, _creationTime: time }),
	unknownRole: (role, content) => wrap({ role, content }, 99),
};
