import { describeRealSessions } from "./session-checks.ts";

describeRealSessions("kimi-context", () => ({}));
