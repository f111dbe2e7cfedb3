#!/usr/bin/env node
/** Where the service starts. An older Node.js cannot even read main.ts, so it is told here. */
import 'kubectl-atrium/node-version.js';

void import('./main.ts');
