import { itExportsEvents } from './log-export-suite.ts';
import { itKeepsEventsOfReplicas, itRemovesExpiredEvents, itServesStoreCalls } from './store-server-suite.ts';

describe('events in atrium audit-store', () => itKeepsEventsOfReplicas());

describe('atrium audit-store', () => itServesStoreCalls());

describe('the end of events in atrium audit-store', () => itRemovesExpiredEvents());

describe('copies of events at a collector of logs', () => itExportsEvents());
