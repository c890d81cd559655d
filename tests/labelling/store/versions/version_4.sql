BEGIN TRANSACTION;
CREATE TABLE changes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	what TEXT NOT NULL, 
	detail JSON NOT NULL
);
INSERT INTO "changes" VALUES(1,1.70000000845398926735e+09,'owner','add labels','{"names": ["left", "l\u00f3w; \"2\"", "far", "near", "old"]}');
INSERT INTO "changes" VALUES(2,1.70000000908927273749e+09,'owner','add labels','{"names": ["new"]}');
INSERT INTO "changes" VALUES(3,1.70000000910099720958e+09,'owner','rename label','{"old": "far", "new": "far away"}');
INSERT INTO "changes" VALUES(4,1.70000000915259099005e+09,'owner','merge labels','{"source": "near", "target": "far away"}');
INSERT INTO "changes" VALUES(5,1.70000000917943024634e+09,'owner','retire label','{"name": "old"}');
INSERT INTO "changes" VALUES(6,1.70000000919817280766e+09,'owner','add items','{"number": 1}');
INSERT INTO "changes" VALUES(7,1.70000001142733407023e+09,'owner','add labels','{"names": ["hinted"]}');
CREATE TABLE event_values (
	event INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	value SMALLINT NOT NULL, 
	PRIMARY KEY (event, label), 
	FOREIGN KEY(event) REFERENCES events (id), 
	FOREIGN KEY(label) REFERENCES labels (id)
)
 WITHOUT ROWID

;
INSERT INTO "event_values" VALUES(1,1,1);
INSERT INTO "event_values" VALUES(1,2,0);
INSERT INTO "event_values" VALUES(1,3,0);
INSERT INTO "event_values" VALUES(1,4,1);
INSERT INTO "event_values" VALUES(1,5,0);
INSERT INTO "event_values" VALUES(2,1,1);
INSERT INTO "event_values" VALUES(2,2,0);
INSERT INTO "event_values" VALUES(2,3,0);
INSERT INTO "event_values" VALUES(2,4,1);
INSERT INTO "event_values" VALUES(2,5,0);
INSERT INTO "event_values" VALUES(3,1,1);
INSERT INTO "event_values" VALUES(3,2,0);
INSERT INTO "event_values" VALUES(3,3,1);
INSERT INTO "event_values" VALUES(3,4,0);
INSERT INTO "event_values" VALUES(3,5,0);
INSERT INTO "event_values" VALUES(4,1,1);
INSERT INTO "event_values" VALUES(4,2,0);
INSERT INTO "event_values" VALUES(4,3,1);
INSERT INTO "event_values" VALUES(4,4,0);
INSERT INTO "event_values" VALUES(4,5,0);
INSERT INTO "event_values" VALUES(5,1,-1);
INSERT INTO "event_values" VALUES(5,2,1);
INSERT INTO "event_values" VALUES(5,3,0);
INSERT INTO "event_values" VALUES(5,4,0);
INSERT INTO "event_values" VALUES(5,5,1);
INSERT INTO "event_values" VALUES(6,1,-1);
INSERT INTO "event_values" VALUES(6,2,1);
INSERT INTO "event_values" VALUES(6,3,0);
INSERT INTO "event_values" VALUES(6,4,0);
INSERT INTO "event_values" VALUES(6,5,1);
INSERT INTO "event_values" VALUES(7,1,1);
INSERT INTO "event_values" VALUES(7,2,0);
INSERT INTO "event_values" VALUES(7,3,0);
INSERT INTO "event_values" VALUES(7,4,1);
INSERT INTO "event_values" VALUES(7,5,0);
INSERT INTO "event_values" VALUES(8,1,1);
INSERT INTO "event_values" VALUES(8,2,0);
INSERT INTO "event_values" VALUES(8,3,0);
INSERT INTO "event_values" VALUES(8,4,1);
INSERT INTO "event_values" VALUES(8,5,0);
INSERT INTO "event_values" VALUES(9,1,1);
INSERT INTO "event_values" VALUES(9,2,0);
INSERT INTO "event_values" VALUES(9,3,1);
INSERT INTO "event_values" VALUES(9,4,0);
INSERT INTO "event_values" VALUES(9,5,0);
INSERT INTO "event_values" VALUES(10,1,1);
INSERT INTO "event_values" VALUES(10,2,0);
INSERT INTO "event_values" VALUES(10,3,1);
INSERT INTO "event_values" VALUES(10,4,0);
INSERT INTO "event_values" VALUES(10,5,0);
INSERT INTO "event_values" VALUES(11,1,1);
INSERT INTO "event_values" VALUES(11,2,1);
INSERT INTO "event_values" VALUES(11,3,0);
INSERT INTO "event_values" VALUES(11,4,0);
INSERT INTO "event_values" VALUES(11,5,1);
INSERT INTO "event_values" VALUES(12,1,1);
INSERT INTO "event_values" VALUES(12,2,1);
INSERT INTO "event_values" VALUES(12,3,0);
INSERT INTO "event_values" VALUES(12,4,0);
INSERT INTO "event_values" VALUES(12,5,1);
INSERT INTO "event_values" VALUES(15,1,1);
INSERT INTO "event_values" VALUES(15,2,0);
INSERT INTO "event_values" VALUES(16,1,0);
INSERT INTO "event_values" VALUES(17,4,0);
INSERT INTO "event_values" VALUES(17,6,0);
INSERT INTO "event_values" VALUES(18,4,1);
INSERT INTO "event_values" VALUES(18,6,0);
INSERT INTO "event_values" VALUES(19,4,0);
INSERT INTO "event_values" VALUES(19,6,1);
INSERT INTO "event_values" VALUES(20,4,1);
INSERT INTO "event_values" VALUES(20,6,0);
INSERT INTO "event_values" VALUES(21,4,0);
INSERT INTO "event_values" VALUES(21,6,0);
INSERT INTO "event_values" VALUES(22,3,1);
INSERT INTO "event_values" VALUES(23,3,1);
INSERT INTO "event_values" VALUES(24,3,1);
INSERT INTO "event_values" VALUES(25,3,1);
INSERT INTO "event_values" VALUES(26,3,0);
INSERT INTO "event_values" VALUES(27,3,1);
INSERT INTO "event_values" VALUES(28,3,0);
INSERT INTO "event_values" VALUES(29,3,1);
INSERT INTO "event_values" VALUES(30,3,0);
INSERT INTO "event_values" VALUES(31,1,1);
INSERT INTO "event_values" VALUES(32,1,1);
INSERT INTO "event_values" VALUES(33,7,1);
CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	asked INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	lease TEXT, 
	undoes INTEGER, 
	FOREIGN KEY(item) REFERENCES items (id), 
	UNIQUE (lease), 
	UNIQUE (undoes), 
	FOREIGN KEY(undoes) REFERENCES events (id)
);
INSERT INTO "events" VALUES(1,1.7000000087913339138e+09,'ann','answer',9,0,'cold start','e0b48763e21552ff',NULL);
INSERT INTO "events" VALUES(2,1700000008.80906,'bob','answer',9,0,'cold start','1bd989d86d17e16a',NULL);
INSERT INTO "events" VALUES(3,1.70000000882326507563e+09,'ann','answer',12,0,'cold start','fa11c13746a9d580',NULL);
INSERT INTO "events" VALUES(4,1700000008.8368,'bob','answer',12,0,'cold start','8fe52cb59588aec7',NULL);
INSERT INTO "events" VALUES(5,1.70000000885185790057e+09,'ann','answer',6,0,'cold start','037077af4fbd4bfb',NULL);
INSERT INTO "events" VALUES(6,1.70000000888015508656e+09,'bob','answer',6,0,'cold start','fdf751a33da5eeb7',NULL);
INSERT INTO "events" VALUES(7,1.70000000890791702267e+09,'ann','answer',17,0,'control','efb38a8b8b31d638',NULL);
INSERT INTO "events" VALUES(8,1.70000000893727397921e+09,'bob','answer',17,0,'control','e4b2c0e953383475',NULL);
INSERT INTO "events" VALUES(9,1.70000000896000194551e+09,'ann','answer',15,0,'cold start','89d4590585e2729a',NULL);
INSERT INTO "events" VALUES(10,1.70000000898402810092e+09,'bob','answer',15,0,'cold start','b308663924396081',NULL);
INSERT INTO "events" VALUES(11,1.70000000900103807452e+09,'ann','answer',5,0,'cold start','dd63fbfbb729e5ff',NULL);
INSERT INTO "events" VALUES(12,1.70000000900721311572e+09,'bob','answer',5,0,'cold start','8ef234d1f3eb927e',NULL);
INSERT INTO "events" VALUES(13,1.7000000090276451111e+09,'ann','undo',5,0,'cold start',NULL,11);
INSERT INTO "events" VALUES(14,1.70000000904770803451e+09,'bob','skip',19,0,'control','1cb766e8f760c36d',NULL);
INSERT INTO "events" VALUES(15,1.70000000907068896287e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(16,1.70000000908328700063e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(17,1.70000000911380696293e+09,'dan','answer',4,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(18,1.70000000911479401581e+09,'dan','answer',5,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(19,1.70000000912120294575e+09,'dan','answer',6,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(20,1.70000000912265491481e+09,'dan','answer',7,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(21,1.70000000914386892314e+09,'dan','answer',8,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(22,1.70000000916198182104e+09,'ann','answer',9,3,'cold start','merged:4:9:ann',NULL);
INSERT INTO "events" VALUES(23,1.70000000916198182104e+09,'bob','answer',9,3,'cold start','merged:4:9:bob',NULL);
INSERT INTO "events" VALUES(24,1.70000000916198182104e+09,'ann','answer',17,3,'control','merged:4:17:ann',NULL);
INSERT INTO "events" VALUES(25,1.70000000916198182104e+09,'bob','answer',17,3,'control','merged:4:17:bob',NULL);
INSERT INTO "events" VALUES(26,1.70000000916198182104e+09,'dan','answer',4,3,'told','merged:4:4:dan',NULL);
INSERT INTO "events" VALUES(27,1.70000000916198182104e+09,'dan','answer',5,3,'told','merged:4:5:dan',NULL);
INSERT INTO "events" VALUES(28,1.70000000916198182104e+09,'dan','answer',6,3,'told','merged:4:6:dan',NULL);
INSERT INTO "events" VALUES(29,1.70000000916198182104e+09,'dan','answer',7,3,'told','merged:4:7:dan',NULL);
INSERT INTO "events" VALUES(30,1.70000000916198182104e+09,'dan','answer',8,3,'told','merged:4:8:dan',NULL);
INSERT INTO "events" VALUES(31,1.70000000919752573963e+09,'owner','answer',21,0,'given',NULL,NULL);
INSERT INTO "events" VALUES(32,1.70000001142538595204e+09,'eve','answer',2,0,'settled',NULL,NULL);
INSERT INTO "events" VALUES(33,1.70000001142989277838e+09,'owner','answer',3,7,'told',NULL,NULL);
CREATE TABLE invitations (
	digest TEXT NOT NULL, 
	who TEXT NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	used_at DOUBLE, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(who) REFERENCES users (name)
);
INSERT INTO "invitations" VALUES('f9f7b66bc46050a057dfaa91a25553e58688736044961ddbe756e054b553704e','ann',1.7006048113926465511e+09,NULL);
INSERT INTO "invitations" VALUES('3ae0ffa2b649687a1f66a44101f72ab60dc374cb9f72611250ac0d150cfd6247','eve',1.70060481140041947368e+09,NULL);
CREATE TABLE items (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	content JSON, 
	numbers BLOB, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "items" VALUES(1,'p0','{"text": "point 0", "gr\u00f6\u00dfe": 0.0}',X'00000000000000000000000000000000');
INSERT INTO "items" VALUES(2,'p1','{"text": "point 1", "gr\u00f6\u00dfe": 0.5}',X'000000000000F03F0000000000000000');
INSERT INTO "items" VALUES(3,'p2','{"text": "point 2", "gr\u00f6\u00dfe": 1.0}',X'00000000000000400000000000000000');
INSERT INTO "items" VALUES(4,'p3','{"text": "point 3", "gr\u00f6\u00dfe": 1.5}',X'00000000000008400000000000000000');
INSERT INTO "items" VALUES(5,'p4','{"text": "point 4", "gr\u00f6\u00dfe": 2.0}',X'00000000000010400000000000000000');
INSERT INTO "items" VALUES(6,'p5','{"text": "point 5", "gr\u00f6\u00dfe": 2.5}',X'0000000000000000000000000000F03F');
INSERT INTO "items" VALUES(7,'p6','{"text": "point 6", "gr\u00f6\u00dfe": 3.0}',X'000000000000F03F000000000000F03F');
INSERT INTO "items" VALUES(8,'p7','{"text": "point 7", "gr\u00f6\u00dfe": 3.5}',X'0000000000000040000000000000F03F');
INSERT INTO "items" VALUES(9,'p8','{"text": "point 8", "gr\u00f6\u00dfe": 4.0}',X'0000000000000840000000000000F03F');
INSERT INTO "items" VALUES(10,'p9','{"text": "point 9", "gr\u00f6\u00dfe": 4.5}',X'0000000000001040000000000000F03F');
INSERT INTO "items" VALUES(11,'p10','{"text": "point 10", "gr\u00f6\u00dfe": 5.0}',X'00000000000000000000000000000040');
INSERT INTO "items" VALUES(12,'p11','{"text": "point 11", "gr\u00f6\u00dfe": 5.5}',X'000000000000F03F0000000000000040');
INSERT INTO "items" VALUES(13,'p12','{"text": "point 12", "gr\u00f6\u00dfe": 6.0}',X'00000000000000400000000000000040');
INSERT INTO "items" VALUES(14,'p13','{"text": "point 13", "gr\u00f6\u00dfe": 6.5}',X'00000000000008400000000000000040');
INSERT INTO "items" VALUES(15,'p14','{"text": "point 14", "gr\u00f6\u00dfe": 7.0}',X'00000000000010400000000000000040');
INSERT INTO "items" VALUES(16,'p15','{"text": "point 15", "gr\u00f6\u00dfe": 7.5}',X'00000000000000000000000000000840');
INSERT INTO "items" VALUES(17,'p16','{"text": "point 16", "gr\u00f6\u00dfe": 8.0}',X'000000000000F03F0000000000000840');
INSERT INTO "items" VALUES(18,'p17','{"text": "point 17", "gr\u00f6\u00dfe": 8.5}',X'00000000000000400000000000000840');
INSERT INTO "items" VALUES(19,'p18','{"text": "point 18", "gr\u00f6\u00dfe": 9.0}',X'00000000000008400000000000000840');
INSERT INTO "items" VALUES(20,'p19','{"text": "point 19", "gr\u00f6\u00dfe": 9.5}',X'00000000000010400000000000000840');
INSERT INTO "items" VALUES(21,'given','"x"',X'00000000000022400000000000002240');
CREATE TABLE labels (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	retired_at DOUBLE, 
	merged_into INTEGER, 
	start JSON, 
	PRIMARY KEY (id), 
	FOREIGN KEY(merged_into) REFERENCES labels (id)
);
INSERT INTO "labels" VALUES(1,'left',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(2,'lów; "2"',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(3,'far away',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(4,'near',NULL,3,NULL);
INSERT INTO "labels" VALUES(5,'old',1.70000000917943024634e+09,NULL,NULL);
INSERT INTO "labels" VALUES(6,'new',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(7,'hinted',NULL,NULL,'{"like": {"1": 0.5}}');
CREATE TABLE labelwise_project (
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "labelwise_project" VALUES('format','"labelwise project"');
INSERT INTO "labelwise_project" VALUES('version',4);
INSERT INTO "labelwise_project" VALUES('identity','"87de7c4f90244aa7acbf75b0885d4309"');
INSERT INTO "labelwise_project" VALUES('settings','{"model": "binary_relevance", "strategy": "uncertainty", "model_options": {}, "features": {"kind": "numbers", "width": 2, "sparse": false}, "control": 0.2, "overlap": 2, "overlap_share": 1.0, "lease_seconds": 600.0, "ready": 12, "read_cost": 0.0, "answer_cost": 1.0, "label_costs": {}, "start": 0, "random_state": 0}');
INSERT INTO "labelwise_project" VALUES('picture_folders','[]');
CREATE TABLE leases (
	token TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	score DOUBLE, 
	rank INTEGER NOT NULL, 
	beliefs BLOB, 
	given_at DOUBLE NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	state TEXT NOT NULL, 
	words TEXT, 
	PRIMARY KEY (token), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "leases" VALUES('e0b48763e21552ff',9,0,'ann','cold start',1.04797895030149956774e+00,0,NULL,1.70000000875774288176e+09,1.70000060875775098803e+09,'answered',NULL);
INSERT INTO "leases" VALUES('1bd989d86d17e16a',9,0,'bob','cold start',1.04797895030149956774e+00,0,NULL,1.70000000879883098603e+09,1.7000006087988379002e+09,'answered',NULL);
INSERT INTO "leases" VALUES('fa11c13746a9d580',12,0,'ann','cold start',8.84949839114036573839e-01,1,NULL,1.7000000088118789196e+09,1.70000060881188392635e+09,'answered',NULL);
INSERT INTO "leases" VALUES('8fe52cb59588aec7',12,0,'bob','cold start',8.84949839114036573839e-01,1,NULL,1.70000000883218908313e+09,1.70000060883219408988e+09,'answered',NULL);
INSERT INTO "leases" VALUES('037077af4fbd4bfb',6,0,'ann','cold start',7.0360358078468165921e-01,2,NULL,1700000008.84446,1.7000006088444650173e+09,'answered',NULL);
INSERT INTO "leases" VALUES('fdf751a33da5eeb7',6,0,'bob','cold start',7.0360358078468165921e-01,2,NULL,1.70000000886426591876e+09,1.70000060886427092551e+09,'answered',NULL);
INSERT INTO "leases" VALUES('efb38a8b8b31d638',17,0,'ann','control',NULL,3,NULL,1.70000000889735388754e+09,1.70000060889735889429e+09,'answered',NULL);
INSERT INTO "leases" VALUES('e4b2c0e953383475',17,0,'bob','control',NULL,3,NULL,1.70000000891836309429e+09,1.70000060891836810112e+09,'answered',NULL);
INSERT INTO "leases" VALUES('89d4590585e2729a',15,0,'ann','cold start',6.49494039653523591582e-01,4,NULL,1.70000000894981598848e+09,1.70000060894982099536e+09,'answered',NULL);
INSERT INTO "leases" VALUES('b308663924396081',15,0,'bob','cold start',6.49494039653523591582e-01,4,NULL,1.7000000089721560478e+09,1.7000006089721620083e+09,'answered',NULL);
INSERT INTO "leases" VALUES('dd63fbfbb729e5ff',5,0,'ann','cold start',3.66447754779228196397e-01,5,NULL,1.70000000899084305764e+09,1.7000006089908540249e+09,'answered',NULL);
INSERT INTO "leases" VALUES('8ef234d1f3eb927e',5,0,'bob','cold start',3.66447754779228196397e-01,5,NULL,1.7000000090039420128e+09,1.70000060900394701956e+09,'answered',NULL);
INSERT INTO "leases" VALUES('ce538f5191f93c7a',5,0,'ann','cold start',3.66447754779228196397e-01,5,NULL,1.70000000902869296071e+09,1.70000060902869796746e+09,'open',NULL);
INSERT INTO "leases" VALUES('1cb766e8f760c36d',19,0,'bob','control',NULL,6,NULL,1.70000000903958606726e+09,1.70000060903959107402e+09,'skipped',NULL);
INSERT INTO "leases" VALUES('5b809e206f0622f2',19,0,'cid','control',NULL,6,NULL,1.7000000090514950752e+09,1700000609.0515,'open',NULL);
INSERT INTO "leases" VALUES('eff6db488d00cd85',18,0,'cid','cold start',2.66713685611977169287e-01,7,NULL,1700000009.05201,1.70000060905201506615e+09,'open',NULL);
CREATE TABLE questions (
	"plan" INTEGER NOT NULL, 
	item INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	score DOUBLE, 
	remaining INTEGER NOT NULL, 
	beliefs BLOB, 
	words TEXT, 
	PRIMARY KEY ("plan", item, label), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "questions" VALUES(2,19,0,0,'control',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,18,0,1,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,4,0,3,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,7,0,4,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,8,0,5,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,11,0,6,'strategy',2.65693096989998878143e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,1,0,7,'strategy',2.61614086004056956014e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,16,0,8,'strategy',2.45163595175788362467e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,13,0,9,'strategy',2.20118056100191594737e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,14,0,10,'strategy',1.83383401420095593081e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,3,0,11,'control',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,10,0,12,'strategy',1.7359105148922475692e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,20,0,13,'strategy',1.25720718213930204854e+00,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,21,0,14,'strategy',1.43323038436592664623e-01,2,NULL,NULL);
CREATE TABLE sessions (
	digest TEXT NOT NULL, 
	who TEXT NOT NULL, 
	is_local BOOLEAN NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	PRIMARY KEY (digest)
);
CREATE TABLE studio_annotations (
	source TEXT NOT NULL, 
	number TEXT NOT NULL, 
	event INTEGER, 
	state DOUBLE NOT NULL, 
	noted_at DOUBLE NOT NULL, 
	unique_id TEXT, 
	partial BOOLEAN NOT NULL, 
	gone TEXT, 
	PRIMARY KEY (source, number), 
	FOREIGN KEY(event) REFERENCES events (id)
);
CREATE TABLE studio_tasks (
	source TEXT NOT NULL, 
	number TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY (source, number), 
	FOREIGN KEY(item) REFERENCES items (id)
);
CREATE TABLE tokens (
	name TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "tokens" VALUES('label-studio','7320f5bd9ac894e7683fc6e4467a4635ed82176a0895efcc7a9f50d3edad1086',1.70000001140794110296e+09);
CREATE TABLE trainings (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	state TEXT NOT NULL, 
	started_at DOUBLE NOT NULL, 
	finished_at DOUBLE, 
	seen_event INTEGER NOT NULL, 
	seen_change INTEGER NOT NULL, 
	message TEXT, 
	report JSON
);
INSERT INTO "trainings" VALUES(1,'good',1.70000000855667710302e+09,1.70000000865634322169e+09,0,1,NULL,'{"answers": 0, "control_items": 0}');
INSERT INTO "trainings" VALUES(2,'good',1.70000000922447800635e+09,1.70000000931280159949e+09,31,6,NULL,'{"answers": 17, "control_items": 1, "f1": {"f1": null, "low": null, "high": null, "items": 1, "entries": 3, "found": 2, "needed": 20}, "calibration": {"bins": [{"entries": 1, "believed": 0.1936, "share": 0.0, "low": 0.0, "high": 0.7715}, {"entries": 2, "believed": 0.7667, "share": 1.0, "low": 0.4307, "high": 1.0}], "error": 0.2201}, "labels": {"1": [10, 1, 2, null], "2": [3, 9, 0, 1.0], "3": [10, 6, 0, 0.6667], "6": [1, 4, 0, null]}, "pairs": [["ann", "bob", 14, 14, 1.0], ["ann", "dan", 1, 1, null], ["bob", "dan", 2, 1, 0.0]], "base_rates": {"left": {"rate": 0.75, "low": 0.22851981380632874, "high": 0.9984570806973271}, "l\u00f3w; \"2\"": {"rate": 0.25, "low": 0.0015429193026729434, "high": 0.7714801861936711}, "far away": {"rate": 0.75, "low": 0.22851981380632874, "high": 0.9984570806973271}}, "exhausted": true, "forecast": null}');
CREATE TABLE users (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	removed_at DOUBLE, 
	PRIMARY KEY (name)
);
INSERT INTO "users" VALUES('ann','annotator',1.70000001138320136072e+09,NULL);
INSERT INTO "users" VALUES('eve','admin',1.7000000113998529911e+09,NULL);
CREATE INDEX events_by_person ON events (who, id);
CREATE INDEX events_of_a_person ON events (item, who);
CREATE INDEX questions_in_order ON questions ("plan", rank);
CREATE INDEX leases_by_state ON leases (state, expires_at);
CREATE INDEX leases_of_an_item ON leases (item, label);
CREATE INDEX studio_annotations_by_event ON studio_annotations (event);
CREATE VIEW votes AS 
        SELECT event, item, label, who, reason, value FROM (
            SELECT e.id AS event, e.item, v.label, e.who, e.reason, v.value,
                   row_number() OVER (PARTITION BY e.item, v.label, e.who ORDER BY e.id DESC) AS latest
            FROM events e JOIN event_values v ON v.event = e.id
            WHERE e.kind = 'answer' AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.id)
        ) AS said WHERE latest = 1;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',7);
INSERT INTO "sqlite_sequence" VALUES('trainings',2);
INSERT INTO "sqlite_sequence" VALUES('events',33);
COMMIT;
