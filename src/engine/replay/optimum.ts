import type { Prices } from "../../policy/schema.ts";
import type { ReplayHistory } from "./history.ts";
import { meterSchedule } from "./meter-schedule.ts";
import { optimalSchedule } from "./optimal-schedule.ts";

/** The least that the calls of a history can cost: the bill of `optimalSchedule`. */
export function optimalBill(history: ReplayHistory, windowTurns: number, prices: Prices): number {
	return meterSchedule(history, optimalSchedule(history, windowTurns, prices), prices).billed;
}
