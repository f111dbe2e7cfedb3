/** Runs after `npm ci`, on any Node.js that has npm 10. */
import { rmSync } from 'node:fs';

// Headers for native add-ons, of which the project builds none: 67 of 210 MB.
for (const platform of ['x64', 'arm64'])
  rmSync(new URL(`../node_modules/node-linux-${platform}/include`, import.meta.url), { recursive: true, force: true });

// Node.js of node_modules runs this script: npm tells which one it runs on itself.
const [, version = ''] = /node\/v(\d+\.\S+)/.exec(process.env.npm_config_user_agent ?? '') ?? [];
if (Number.parseInt(version, 10) < 22)
  console.log(`Node.js ${version} is enough to install. The npm scripts run on Node.js 26, which is installed now.`);
