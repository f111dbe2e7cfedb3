#!/usr/bin/env node
/** Where the service starts. An older Node.js cannot even read main.ts, so it is told here. */
import { requireNode } from 'kubectl-atrium/node-version.js';

requireNode(24, 11);

void import('./main.ts');
