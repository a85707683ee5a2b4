import { describeRealSessions } from "./session-checks.ts";

describeRealSessions("bedrock-converse", () => ({}));
