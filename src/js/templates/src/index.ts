// The service as it is. To add routes of your own, export `createWorker({ fetch(request, env, context, next) { … } })` in its place.

export { default } from "statewright/worker";
