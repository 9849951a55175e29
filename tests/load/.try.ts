import { telling } from "./services.ts";
import { backlog, drop } from "./backlog.ts";
import { Sink } from "./sink.ts";
const sinks = await Sink.open(100);
const [sink] = sinks;
const s = await telling("/tmp/telling-try", sink!.url);
const sum = () => sinks.slice(1).reduce((a, x) => a + x.accepted, 0);
try {
await s.client.post(s.one, JSON.stringify({event_type:"turn",entity_key:"id",params:{id:`e-1`},timestamp:1}));
await new Promise(r=>setTimeout(r,500));
for (const dead of [false, true, false, true]) {
sink!.dead = dead;
const before = sum();
await backlog(s.runtime, Math.random()*1e6|0, sinks, 3);
const began = performance.now();
for (let i=0;i<4;i++) {
  const p = s.runtime.scheduled(new Date()).then(()=>console.log("  ended", (performance.now()-began).toFixed()), (e)=>console.log("fail", String(e)));
  await Promise.race([p, new Promise(r=>setTimeout(r,4000))]);
  console.log(dead, i, (performance.now()-began).toFixed(), sum()-before, sink!.holding, JSON.stringify(await s.runtime.sql("select status,claimed,due_at-?1 as due,count(*) n, substr(sink,-6) as sink from outbox where status='pending' group by 1,2,3,5 limit 6", Date.now())));
}
await drop(s.runtime); sink!.release();
await new Promise(r=>setTimeout(r,1500));
}
} finally { for (const sink of sinks) sink!.close(); await s.stop(); }
