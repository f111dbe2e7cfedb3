#!/usr/bin/env node
/** Where the service starts. An older Node.js cannot even read main.ts, so it is told here. */
import './node-version.js';

void import('./main.ts');
