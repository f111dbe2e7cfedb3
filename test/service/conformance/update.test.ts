import { expect } from 'chai';
import { failure, objectOf } from './api-client.ts';
import { aConfigMap, aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

describe('get and update', () => {
  const { admin, widgets, configMaps } = suiteWorkspace();

  describe('get', () => {
    it('answers the object as it was stored', async () => {
      const created = await admin.create(configMaps, aConfigMap('stored'));

      expect(await admin.read(`${configMaps}/stored`)).to.deep.equal(created);
    });

    it('answers 404 with name and resource in the details', async () => {
      const answer = await admin.get(`${configMaps}/missing`);

      expect(answer.status).to.equal(404);
      expect(answer.body).to.deep.equal(
        failure(404, 'NotFound', 'configmaps "missing" not found', { name: 'missing', kind: 'configmaps' }),
      );
    });

    it('names the group in the 404 of a custom resource', async () => {
      const answer = await admin.get(`${widgets}/missing`);

      expect(answer.body).to.deep.include({
        message: 'widgets.conformance.example.com "missing" not found',
        details: { name: 'missing', group: 'conformance.example.com', kind: 'widgets' },
      });
    });
  });

  describe('update', () => {
    it('replaces the object and moves its resourceVersion', async () => {
      const created = await admin.create(configMaps, aConfigMap('replaced'));
      const answer = await admin.put(`${configMaps}/replaced`, { ...created, data: { other: '1' } });

      expect(answer.status).to.equal(200);
      expect(answer.body).to.deep.include({ data: { other: '1' } });
      const updated = objectOf(answer);
      expect(updated.metadata.uid).to.equal(created.metadata.uid);
      expect(updated.metadata.resourceVersion).not.to.equal(created.metadata.resourceVersion);
    });

    it('leaves the resourceVersion alone when nothing changes', async () => {
      const created = await admin.create(widgets, aWidget('unchanged'));
      const updated = objectOf(await admin.put(`${widgets}/unchanged`, created));

      expect(updated.metadata.resourceVersion).to.equal(created.metadata.resourceVersion);
    });

    it('answers 409 Conflict for a stale resourceVersion', async () => {
      const created = await admin.create(configMaps, aConfigMap('contended'));
      await admin.put(`${configMaps}/contended`, { ...created, data: { winner: 'first' } });
      const answer = await admin.put(`${configMaps}/contended`, { ...created, data: { winner: 'second' } });

      expect(answer.status).to.equal(409);
      expect(answer.body).to.deep.equal(
        failure(
          409,
          'Conflict',
          'Operation cannot be fulfilled on configmaps "contended": the object has been modified; please apply your changes to the latest version and try again',
          { name: 'contended', kind: 'configmaps' },
        ),
      );
      expect(await admin.read(`${configMaps}/contended`)).to.have.nested.property('data.winner', 'first');
    });

    it('answers 409 Conflict for another uid', async () => {
      const created = await admin.create(configMaps, aConfigMap('reborn'));
      const stranger = { ...created, metadata: { name: 'reborn', uid: '00000000-0000-4000-8000-000000000000' } };
      const answer = await admin.put(`${configMaps}/reborn`, stranger);

      expect(answer.status).to.equal(409);
      expect(answer.body).to.have.property('reason', 'Conflict');
    });

    it('takes a built-in object without a resourceVersion, whatever was stored', async () => {
      await admin.create(configMaps, aConfigMap('unconditional'));

      expect((await admin.put(`${configMaps}/unconditional`, aConfigMap('unconditional', { a: 'b' }))).status).to.equal(200);
    });

    it('requires the resourceVersion of a custom resource', async () => {
      await admin.create(widgets, aWidget('conditional'));
      const answer = await admin.put(`${widgets}/conditional`, aWidget('conditional', { size: 2 }));

      expect(answer.status).to.equal(422);
      expect(answer.body).to.have.nested.property('details.causes[0].field', 'metadata.resourceVersion');
    });

    it('refuses another name than the path', async () => {
      await admin.create(configMaps, aConfigMap('named'));
      const answer = await admin.put(`${configMaps}/named`, aConfigMap('renamed'));

      expect(answer.status).to.equal(400);
      expect(answer.body).to.include({
        reason: 'BadRequest',
        message: 'the name of the object (renamed) does not match the name on the URL (named)',
      });
    });

    it('answers 404 for a custom resource that is not there', async () => {
      const answer = await admin.put(`${widgets}/absent`, aWidget('absent', {}, { resourceVersion: '1' }));

      expect(answer.status).to.equal(404);
    });

    it('stores nothing with dryRun=All', async () => {
      const created = await admin.create(configMaps, aConfigMap('rehearsal'));
      const answer = await admin.put(`${configMaps}/rehearsal`, { ...created, data: { a: 'b' } }, { dryRun: 'All' });

      expect(answer.body).to.deep.include({ data: { a: 'b' } });
      expect(await admin.read(`${configMaps}/rehearsal`)).to.deep.equal(created);
    });
  });
});
