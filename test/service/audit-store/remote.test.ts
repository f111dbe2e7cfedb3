import { itKeepsEventsOfReplicas, itRemovesExpiredEvents, itServesStoreCalls } from './store-server-suite.ts';

describe('events in atrium audit-store', () => itKeepsEventsOfReplicas());

describe('atrium audit-store', () => itServesStoreCalls());

describe('the end of events in atrium audit-store', () => itRemovesExpiredEvents());
