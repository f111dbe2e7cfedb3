#!/usr/bin/env node
/** Entry point of kubectl's login on users' machines; see atrium.js. */
import { requireNode } from './node-version.js';

requireNode(20, 18);

void import('./kubectl-atrium.ts');
