#!/usr/bin/env node
/** Entry point of kubectl's login on users' machines; see atrium.js. */
import './node-version.js';

void import('./kubectl-atrium.ts');
