#!/usr/bin/env node
/** Where kubectl's login starts on people's machines; see atrium.js. */
import './node-version.js';

void import('./kubectl-atrium.ts');
