import { itKeepsEventsOfReplicas, itServesStoreCalls } from './store-server-suite.ts';

describe('events in atrium audit-store', () => itKeepsEventsOfReplicas());

describe('atrium audit-store', () => itServesStoreCalls());
