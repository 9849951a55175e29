import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "./style/tokens.css";
import "./style/base.css";

import { render } from "preact";

import { App } from "./app/app.tsx";
import { applyTheme } from "./app/theme.ts";
import { registerOffline } from "./offline/register.ts";
import { tellUnforeseen } from "./parts/unforeseen.ts";
import { showHiddenSigns } from "./parts/visible-text.ts";

showHiddenSigns();
tellUnforeseen();
applyTheme();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
registerOffline();
