BEGIN TRANSACTION;
CREATE TABLE changes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	what TEXT NOT NULL, 
	detail JSON NOT NULL
);
INSERT INTO "changes" VALUES(1,1.70000001166392779349e+09,'owner','add labels','{"names": ["left", "l\u00f3w; \"2\"", "far", "near", "old"]}');
INSERT INTO "changes" VALUES(2,1.70000001262889170643e+09,'owner','add labels','{"names": ["new"]}');
INSERT INTO "changes" VALUES(3,1.70000001264865851407e+09,'owner','rename label','{"old": "far", "new": "far away"}');
INSERT INTO "changes" VALUES(4,1.70000001268055272105e+09,'owner','merge labels','{"source": "near", "target": "far away"}');
INSERT INTO "changes" VALUES(5,1.70000001269654726987e+09,'owner','retire label','{"name": "old"}');
INSERT INTO "changes" VALUES(6,1.70000001271368861204e+09,'owner','add items','{"number": 1}');
INSERT INTO "changes" VALUES(7,1.70000001645287680623e+09,'owner','add labels','{"names": ["hinted"]}');
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
INSERT INTO "events" VALUES(1,1.70000001231854200364e+09,'ann','answer',9,0,'cold start','791e0964102d224e',NULL);
INSERT INTO "events" VALUES(2,1.70000001234908390047e+09,'bob','answer',9,0,'cold start','80b92dcec1c7f31a',NULL);
INSERT INTO "events" VALUES(3,1.70000001236299204824e+09,'ann','answer',12,0,'cold start','c20c5f559a9def5a',NULL);
INSERT INTO "events" VALUES(4,1.70000001237681102749e+09,'bob','answer',12,0,'cold start','8f275c4ee936fe61',NULL);
INSERT INTO "events" VALUES(5,1.70000001239295101167e+09,'ann','answer',6,0,'cold start','20f004792dc66b93',NULL);
INSERT INTO "events" VALUES(6,1.70000001241287708279e+09,'bob','answer',6,0,'cold start','6936705ceea13c79',NULL);
INSERT INTO "events" VALUES(7,1700000012.42902,'ann','answer',17,0,'control','4caa68d57cd7629e',NULL);
INSERT INTO "events" VALUES(8,1700000012.443,'bob','answer',17,0,'control','f7c1a3369c4dc190',NULL);
INSERT INTO "events" VALUES(9,1.70000001245944809915e+09,'ann','answer',15,0,'cold start','dafaee5af374f6f0',NULL);
INSERT INTO "events" VALUES(10,1700000012.50954,'bob','answer',15,0,'cold start','a2b8f1fc8f116c13',NULL);
INSERT INTO "events" VALUES(11,1.7000000125208890438e+09,'ann','answer',5,0,'cold start','247edd4be444526e',NULL);
INSERT INTO "events" VALUES(12,1.70000001252618193623e+09,'bob','answer',5,0,'cold start','b1581eb52a106cb0',NULL);
INSERT INTO "events" VALUES(13,1700000012.53153,'ann','undo',5,0,'cold start',NULL,11);
INSERT INTO "events" VALUES(14,1.70000001258425807951e+09,'bob','skip',19,0,'control','6c4c7b7450f9a70a',NULL);
INSERT INTO "events" VALUES(15,1.70000001260313391687e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(16,1.70000001261849808696e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(17,1.70000001265543293949e+09,'dan','answer',4,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(18,1.70000001266111397738e+09,'dan','answer',5,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(19,1700000012.66261,'dan','answer',6,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(20,1.70000001266890406604e+09,'dan','answer',7,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(21,1.70000001267005610471e+09,'dan','answer',8,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(22,1.7000000126817219258e+09,'ann','answer',9,3,'cold start','merged:4:9:ann',NULL);
INSERT INTO "events" VALUES(23,1.7000000126817219258e+09,'bob','answer',9,3,'cold start','merged:4:9:bob',NULL);
INSERT INTO "events" VALUES(24,1.7000000126817219258e+09,'ann','answer',17,3,'control','merged:4:17:ann',NULL);
INSERT INTO "events" VALUES(25,1.7000000126817219258e+09,'bob','answer',17,3,'control','merged:4:17:bob',NULL);
INSERT INTO "events" VALUES(26,1.7000000126817219258e+09,'dan','answer',4,3,'told','merged:4:4:dan',NULL);
INSERT INTO "events" VALUES(27,1.7000000126817219258e+09,'dan','answer',5,3,'told','merged:4:5:dan',NULL);
INSERT INTO "events" VALUES(28,1.7000000126817219258e+09,'dan','answer',6,3,'told','merged:4:6:dan',NULL);
INSERT INTO "events" VALUES(29,1.7000000126817219258e+09,'dan','answer',7,3,'told','merged:4:7:dan',NULL);
INSERT INTO "events" VALUES(30,1.7000000126817219258e+09,'dan','answer',8,3,'told','merged:4:8:dan',NULL);
INSERT INTO "events" VALUES(31,1.700000012712906599e+09,'owner','answer',21,0,'given',NULL,NULL);
INSERT INTO "events" VALUES(32,1.7000000164454469681e+09,'eve','answer',2,0,'settled',NULL,NULL);
INSERT INTO "events" VALUES(33,1.70000001645428442959e+09,'owner','answer',3,7,'told',NULL,NULL);
CREATE TABLE invitations (
	digest TEXT NOT NULL, 
	who TEXT NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	used_at DOUBLE, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(who) REFERENCES users (name)
);
INSERT INTO "invitations" VALUES('9272cb54028177eae205bd0a6448f836e6d4b7d71eb033fcbe77a2a04cee5145','ann',1.7006048164118192196e+09,NULL);
INSERT INTO "invitations" VALUES('918140d3b027876074e1eeb8e167652bb6e932dc6d479303aebd5aaacb05e855','eve',1.70060481642938399315e+09,NULL);
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
INSERT INTO "labels" VALUES(5,'old',1.70000001269654726987e+09,NULL,NULL);
INSERT INTO "labels" VALUES(6,'new',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(7,'hinted',NULL,NULL,'{"like": {"1": 0.5}}');
CREATE TABLE labelwise_project (
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "labelwise_project" VALUES('format','"labelwise project"');
INSERT INTO "labelwise_project" VALUES('version',3);
INSERT INTO "labelwise_project" VALUES('identity','"7dcb38b66c3b48ea8cff6b483c95a3de"');
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
INSERT INTO "leases" VALUES('791e0964102d224e',9,0,'ann','cold start',1.04797895030149956774e+00,0,NULL,1.70000001228318595885e+09,1.70000061228319692611e+09,'answered',NULL);
INSERT INTO "leases" VALUES('80b92dcec1c7f31a',9,0,'bob','cold start',1.04797895030149956774e+00,0,NULL,1.70000001233435893066e+09,1.7000006123343670368e+09,'answered',NULL);
INSERT INTO "leases" VALUES('c20c5f559a9def5a',12,0,'ann','cold start',8.84949839114036573839e-01,1,NULL,1.70000001235731410982e+09,1.70000061235731911657e+09,'answered',NULL);
INSERT INTO "leases" VALUES('8f275c4ee936fe61',12,0,'bob','cold start',8.84949839114036573839e-01,1,NULL,1.70000001237330198287e+09,1.70000061237330698962e+09,'answered',NULL);
INSERT INTO "leases" VALUES('20f004792dc66b93',6,0,'ann','cold start',7.0360358078468165921e-01,2,NULL,1.7000000123810050487e+09,1.7000006123810110092e+09,'answered',NULL);
INSERT INTO "leases" VALUES('6936705ceea13c79',6,0,'bob','cold start',7.0360358078468165921e-01,2,NULL,1.7000000124034950733e+09,1.7000006124035010338e+09,'answered',NULL);
INSERT INTO "leases" VALUES('4caa68d57cd7629e',17,0,'ann','control',NULL,3,NULL,1.70000001241712808608e+09,1.70000061241713404649e+09,'answered',NULL);
INSERT INTO "leases" VALUES('f7c1a3369c4dc190',17,0,'bob','control',NULL,3,NULL,1.70000001243719601629e+09,1700000612.4372,'answered',NULL);
INSERT INTO "leases" VALUES('dafaee5af374f6f0',15,0,'ann','cold start',6.49494039653523591582e-01,4,NULL,1.70000001245172095297e+09,1.70000061245172500606e+09,'answered',NULL);
INSERT INTO "leases" VALUES('a2b8f1fc8f116c13',15,0,'bob','cold start',6.49494039653523591582e-01,4,NULL,1700000012.47722,1.70000061247722411162e+09,'answered',NULL);
INSERT INTO "leases" VALUES('247edd4be444526e',5,0,'ann','cold start',3.66447754779228196397e-01,5,NULL,1700000012.51687,1.70000061251687407492e+09,'answered',NULL);
INSERT INTO "leases" VALUES('b1581eb52a106cb0',5,0,'bob','cold start',3.66447754779228196397e-01,5,NULL,1.70000001252242088313e+09,1.70000061252242493621e+09,'answered',NULL);
INSERT INTO "leases" VALUES('5715c65d47803ab0',5,0,'ann','cold start',3.66447754779228196397e-01,5,NULL,1.7000000125728321075e+09,1.7000006125728418827e+09,'open',NULL);
INSERT INTO "leases" VALUES('6c4c7b7450f9a70a',19,0,'bob','control',NULL,6,NULL,1.70000001257958793634e+09,1.70000061257959389688e+09,'skipped',NULL);
INSERT INTO "leases" VALUES('66b71905bb3d66e6',19,0,'cid','control',NULL,6,NULL,1.7000000125940721035e+09,1.700000612594078064e+09,'open',NULL);
INSERT INTO "leases" VALUES('6ddaaadd4e08156e',18,0,'cid','cold start',2.66713685611977224798e-01,7,NULL,1.7000000125945780278e+09,1.70000061259458208088e+09,'open',NULL);
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
INSERT INTO "tokens" VALUES('label-studio','6fb5a8e4a84bb5a83af7dd6e80df5c568d9f00f644cc25303f4feff34e3ec811',1.70000001643301177026e+09);
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
INSERT INTO "trainings" VALUES(1,'good',1.70000001177444243433e+09,1.70000001217168784138e+09,0,1,NULL,'{"answers": 0, "control_items": 0}');
INSERT INTO "trainings" VALUES(2,'good',1.7000000127172338962e+09,1.70000001278230643275e+09,31,6,NULL,'{"answers": 17, "control_items": 1, "f1": {"f1": null, "low": null, "high": null, "items": 1, "entries": 3, "found": 2, "needed": 20}, "calibration": {"bins": [{"entries": 1, "believed": 0.1936, "share": 0.0, "low": 0.0, "high": 0.7715}, {"entries": 2, "believed": 0.7667, "share": 1.0, "low": 0.4307, "high": 1.0}], "error": 0.2201}, "labels": {"1": [10, 1, 2, null], "2": [3, 9, 0, 1.0], "3": [10, 6, 0, 0.6667], "6": [1, 4, 0, null]}, "pairs": [["ann", "bob", 14, 14, 1.0], ["ann", "dan", 1, 1, null], ["bob", "dan", 2, 1, 0.0]], "base_rates": {"left": {"rate": 0.75, "low": 0.22851981380632874, "high": 0.9984570806973271}, "l\u00f3w; \"2\"": {"rate": 0.25, "low": 0.0015429193026729434, "high": 0.7714801861936711}, "far away": {"rate": 0.75, "low": 0.22851981380632874, "high": 0.9984570806973271}}, "exhausted": true, "forecast": null}');
CREATE TABLE users (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	removed_at DOUBLE, 
	PRIMARY KEY (name)
);
INSERT INTO "users" VALUES('ann','annotator',1.70000001641046786311e+09,NULL);
INSERT INTO "users" VALUES('eve','admin',1.70000001642894625663e+09,NULL);
CREATE INDEX events_by_person ON events (who, id);
CREATE INDEX events_of_a_person ON events (item, who);
CREATE INDEX questions_in_order ON questions ("plan", rank);
CREATE INDEX leases_of_an_item ON leases (item, label);
CREATE INDEX leases_by_state ON leases (state, expires_at);
CREATE INDEX studio_annotations_by_event ON studio_annotations (event);
CREATE VIEW votes AS 
        SELECT event, item, label, who, reason, value FROM (
            SELECT e.id AS event, e.item, v.label, e.who, e.reason, v.value,
                   row_number() OVER (PARTITION BY e.item, v.label, e.who ORDER BY e.id DESC) AS latest
            FROM events e JOIN event_values v ON v.event = e.id
            WHERE e.kind = 'answer' AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.id)
        ) AS said WHERE latest = 1;
CREATE VIEW current_labels AS 
        SELECT item, label,
               CASE WHEN settled = 1 THEN standing WHEN yes > no THEN 1 WHEN no > yes THEN 0 ELSE standing END AS value
        FROM (
            SELECT item, label, sum(value) OVER of_label AS yes, sum(1 - value) OVER of_label AS no,
                   max(settles) OVER of_label AS settled,
                   first_value(value) OVER newest AS standing, row_number() OVER newest AS latest
            FROM (SELECT *, CASE WHEN reason = 'settled' THEN 1 ELSE 0 END AS settles FROM votes) AS weighed
            WHERE value >= 0
            WINDOW of_label AS (PARTITION BY item, label),
                   newest AS (PARTITION BY item, label ORDER BY settles DESC, event DESC)
        ) AS counted WHERE latest = 1;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',7);
INSERT INTO "sqlite_sequence" VALUES('trainings',2);
INSERT INTO "sqlite_sequence" VALUES('events',33);
COMMIT;
