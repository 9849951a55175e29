import "./scheduler.css";

import type { JSX } from "preact";

import { apiPath } from "../curl.ts";
import { CopyCurl } from "../entity/copy-curl.tsx";
import { useNow } from "../entity/now.ts";
import { LiveFailure } from "../live-failure.tsx";
import { useLive } from "../live.ts";
import { client } from "../service.ts";
import { Concerns } from "./concerns.tsx";
import { LastPass } from "./last-pass.tsx";
import { Overdue } from "./overdue.tsx";
import { FailingTimers, ParkedTimers } from "./troubled.tsx";
import { concernsOf } from "./verdict.ts";

/** Whether timers fire in time: the scanner's last pass, what is overdue, and what is in trouble. */
export function SchedulerView(): JSX.Element {
  const live = useLive((signal) => client().scheduler({ signal }), []);
  const now = useNow();
  const { value } = live;
  return (
    <div class="stack con-scheduler">
      <div class="con-head">
        <h1>Scheduler</h1>
        <CopyCurl request={() => ({ method: "GET", path: apiPath("scheduler") })} />
      </div>
      <LiveFailure live={live} what="the scheduler" />
      {value !== undefined && (
        <>
          <Concerns concerns={concernsOf(value, now)} now={now} />
          <div class="con-scheduler-sides">
            <LastPass pass={value.last_pass} now={live.at} />
            <Overdue buckets={value.overdue} />
          </div>
          <ParkedTimers timers={value.parked} />
          <FailingTimers timers={value.failing} now={live.at} />
        </>
      )}
    </div>
  );
}
