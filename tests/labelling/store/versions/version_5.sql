BEGIN TRANSACTION;
CREATE TABLE changes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	what TEXT NOT NULL, 
	detail JSON NOT NULL
);
INSERT INTO "changes" VALUES(1,1.7000000232224218845e+09,'owner','add labels','{"names": ["left", "l\u00f3w; \"2\"", "far", "near", "old"]}');
INSERT INTO "changes" VALUES(2,1.70000002606607365611e+09,'owner','add labels','{"names": ["new"]}');
INSERT INTO "changes" VALUES(3,1.700000026118283987e+09,'owner','rename label','{"old": "far", "new": "far away"}');
INSERT INTO "changes" VALUES(4,1.70000002625993227962e+09,'owner','merge labels','{"source": "near", "target": "far away"}');
INSERT INTO "changes" VALUES(5,1.70000002632278800012e+09,'owner','retire label','{"name": "old"}');
INSERT INTO "changes" VALUES(6,1.70000002641449189186e+09,'owner','add items','{"number": 1}');
INSERT INTO "changes" VALUES(7,1.7000000363307960033e+09,'owner','add labels','{"names": ["hinted"]}');
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
INSERT INTO "event_values" VALUES(34,1,1);
INSERT INTO "event_values" VALUES(34,2,1);
INSERT INTO "event_values" VALUES(34,3,1);
INSERT INTO "event_values" VALUES(34,6,1);
INSERT INTO "event_values" VALUES(34,7,1);
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
INSERT INTO "events" VALUES(1,1.70000002477625203126e+09,'ann','answer',16,0,'start','0f0f9f2bf5218a81',NULL);
INSERT INTO "events" VALUES(2,1700000024.87489,'bob','answer',16,0,'start','95c993c6ebde940a',NULL);
INSERT INTO "events" VALUES(3,1.70000002509898805614e+09,'ann','answer',5,0,'start','759fb1e786de311c',NULL);
INSERT INTO "events" VALUES(4,1.70000002515078306192e+09,'bob','answer',5,0,'start','799646fd217f1083',NULL);
INSERT INTO "events" VALUES(5,1.70000002519132709499e+09,'ann','answer',4,0,'start','7b77ed41647dcd21',NULL);
INSERT INTO "events" VALUES(6,1.70000002524276089665e+09,'bob','answer',4,0,'start','ff8332dd77159af3',NULL);
INSERT INTO "events" VALUES(7,1.70000002528245306018e+09,'ann','answer',11,0,'start','fd4c7757d6bae7ad',NULL);
INSERT INTO "events" VALUES(8,1.70000002531449294091e+09,'bob','answer',11,0,'start','1a573ff6aa20b273',NULL);
INSERT INTO "events" VALUES(9,1.70000002543894600864e+09,'ann','answer',13,0,'start','152a4414b9bbcd54',NULL);
INSERT INTO "events" VALUES(10,1.70000002565837693216e+09,'bob','answer',13,0,'start','de448fd655e13ae2',NULL);
INSERT INTO "events" VALUES(11,1.70000002571718502046e+09,'ann','answer',9,0,'start','bcb15e404055c3b9',NULL);
INSERT INTO "events" VALUES(12,1.70000002576282310479e+09,'bob','answer',9,0,'start','b19b80d00b26c10a',NULL);
INSERT INTO "events" VALUES(13,1.70000002579697489742e+09,'ann','undo',9,0,'start',NULL,11);
INSERT INTO "events" VALUES(14,1.70000002592628598214e+09,'bob','skip',1,0,'start','9153036ad3b21435',NULL);
INSERT INTO "events" VALUES(15,1.70000002601117491726e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(16,1700000026.03942,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(17,1.70000002621019601824e+09,'dan','answer',4,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(18,1.70000002621174597745e+09,'dan','answer',5,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(19,1.70000002621274709695e+09,'dan','answer',6,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(20,1.70000002625045108792e+09,'dan','answer',7,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(21,1.70000002625175905233e+09,'dan','answer',8,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(22,1.70000002627804684641e+09,'ann','answer',16,3,'start','merged:4:16:ann',NULL);
INSERT INTO "events" VALUES(23,1.70000002627804684641e+09,'bob','answer',16,3,'start','merged:4:16:bob',NULL);
INSERT INTO "events" VALUES(24,1.70000002627804684641e+09,'ann','answer',11,3,'start','merged:4:11:ann',NULL);
INSERT INTO "events" VALUES(25,1.70000002627804684641e+09,'bob','answer',11,3,'start','merged:4:11:bob',NULL);
INSERT INTO "events" VALUES(26,1.70000002627804684641e+09,'dan','answer',4,3,'told','merged:4:4:dan',NULL);
INSERT INTO "events" VALUES(27,1.70000002627804684641e+09,'dan','answer',5,3,'told','merged:4:5:dan',NULL);
INSERT INTO "events" VALUES(28,1.70000002627804684641e+09,'dan','answer',6,3,'told','merged:4:6:dan',NULL);
INSERT INTO "events" VALUES(29,1.70000002627804684641e+09,'dan','answer',7,3,'told','merged:4:7:dan',NULL);
INSERT INTO "events" VALUES(30,1.70000002627804684641e+09,'dan','answer',8,3,'told','merged:4:8:dan',NULL);
INSERT INTO "events" VALUES(31,1.70000002638096213338e+09,'owner','answer',21,0,'given',NULL,NULL);
INSERT INTO "events" VALUES(32,1.70000003630764698987e+09,'eve','answer',2,0,'settled',NULL,NULL);
INSERT INTO "events" VALUES(33,1.70000003636688542369e+09,'owner','answer',3,7,'told',NULL,NULL);
INSERT INTO "events" VALUES(34,1.70000003642540693281e+09,'ann','answer',9,0,'start','bb7029b16df3fff8',NULL);
CREATE TABLE invitations (
	digest TEXT NOT NULL, 
	who TEXT NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	used_at DOUBLE, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(who) REFERENCES users (name)
);
INSERT INTO "invitations" VALUES('dbec81d183f0d2a621da54764966b7b7f0c4a022923643ccec913a3a9c9440b7','ann',1.70060483624333882331e+09,NULL);
INSERT INTO "invitations" VALUES('3269dff84db58f67a68d39d70c2d2c052858a70db779d7d0b7717d048219dea2','eve',1.70060483626335215562e+09,NULL);
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
INSERT INTO "labels" VALUES(5,'old',1.70000002632278800012e+09,NULL,NULL);
INSERT INTO "labels" VALUES(6,'new',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(7,'hinted',NULL,NULL,'{"like": {"1": 0.5}}');
CREATE TABLE labelwise_project (
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "labelwise_project" VALUES('format','"labelwise project"');
INSERT INTO "labelwise_project" VALUES('version',5);
INSERT INTO "labelwise_project" VALUES('identity','"f078fd047c414b97b60f0e9beeb0ffa4"');
INSERT INTO "labelwise_project" VALUES('settings','{"model": "binary_relevance", "strategy": "label_covariance", "model_options": {}, "features": {"kind": "numbers", "width": 2, "sparse": false}, "control": 0.2, "guard": false, "overlap": 2, "overlap_share": 1.0, "lease_seconds": 600.0, "ready": 12, "read_cost": 0.0, "answer_cost": 1.0, "label_costs": {}, "start": 20, "random_state": 0}');
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
INSERT INTO "leases" VALUES('0f0f9f2bf5218a81',16,0,'ann','start',NULL,0,NULL,1.70000002468848490722e+09,1.7000006246884980202e+09,'answered',NULL);
INSERT INTO "leases" VALUES('95c993c6ebde940a',16,0,'bob','start',NULL,0,NULL,1.70000002486308288574e+09,1.7000006248630979061e+09,'answered',NULL);
INSERT INTO "leases" VALUES('759fb1e786de311c',5,0,'ann','start',NULL,1,NULL,1.70000002507912588121e+09,1.70000062507913208002e+09,'answered',NULL);
INSERT INTO "leases" VALUES('799646fd217f1083',5,0,'bob','start',NULL,1,NULL,1.70000002511972498893e+09,1.70000062511973810191e+09,'answered',NULL);
INSERT INTO "leases" VALUES('7b77ed41647dcd21',4,0,'ann','start',NULL,2,NULL,1.7000000251748480797e+09,1.70000062517485690119e+09,'answered',NULL);
INSERT INTO "leases" VALUES('ff8332dd77159af3',4,0,'bob','start',NULL,2,NULL,1.70000002521912193294e+09,1.70000062521913290021e+09,'answered',NULL);
INSERT INTO "leases" VALUES('fd4c7757d6bae7ad',11,0,'ann','start',NULL,3,NULL,1.70000002526141190525e+09,1700000625.26142,'answered',NULL);
INSERT INTO "leases" VALUES('1a573ff6aa20b273',11,0,'bob','start',NULL,3,NULL,1.70000002529553103443e+09,1.70000062529553794864e+09,'answered',NULL);
INSERT INTO "leases" VALUES('152a4414b9bbcd54',13,0,'ann','start',NULL,4,NULL,1.70000002533493089671e+09,1.70000062533493804931e+09,'answered',NULL);
INSERT INTO "leases" VALUES('de448fd655e13ae2',13,0,'bob','start',NULL,4,NULL,1.70000002564201092717e+09,1.70000062564202308653e+09,'answered',NULL);
INSERT INTO "leases" VALUES('bcb15e404055c3b9',9,0,'ann','start',NULL,5,NULL,1.70000002570590806006e+09,1.70000062570592403408e+09,'answered',NULL);
INSERT INTO "leases" VALUES('b19b80d00b26c10a',9,0,'bob','start',NULL,5,NULL,1.70000002573552298551e+09,1.70000062573553299902e+09,'answered',NULL);
INSERT INTO "leases" VALUES('bb7029b16df3fff8',9,0,'ann','start',NULL,5,NULL,1.7000000258339250088e+09,1700000636.39568,'answered',NULL);
INSERT INTO "leases" VALUES('9153036ad3b21435',1,0,'bob','start',NULL,6,NULL,1.7000000259027080536e+09,1.70000062590271496768e+09,'skipped',NULL);
INSERT INTO "leases" VALUES('4dbdb17b52f92c25',1,0,'cid','start',NULL,6,NULL,1.70000002594752597801e+09,1.70000062594753909113e+09,'open',NULL);
INSERT INTO "leases" VALUES('0e110dfad3e50303',19,0,'cid','start',NULL,7,NULL,1.70000002595790910718e+09,1.70000062595792698861e+09,'open',NULL);
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
INSERT INTO "questions" VALUES(2,1,0,0,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,19,0,1,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,6,0,4,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,7,0,5,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,8,0,6,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,17,0,7,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,20,0,8,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,3,0,9,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,21,0,10,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,15,0,11,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,12,0,12,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,10,0,13,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,14,0,14,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,18,0,15,'start',NULL,2,NULL,NULL);
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
CREATE TABLE timings (
	event INTEGER NOT NULL, 
	seconds DOUBLE NOT NULL, 
	question TEXT NOT NULL, 
	by_key INTEGER NOT NULL, 
	by_search INTEGER NOT NULL, 
	by_suggestion INTEGER NOT NULL, 
	PRIMARY KEY (event), 
	FOREIGN KEY(event) REFERENCES events (id)
)
 WITHOUT ROWID

;
INSERT INTO "timings" VALUES(34,0.001,'item',1,2,3);
CREATE TABLE tokens (
	name TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "tokens" VALUES('label-studio','4a2b96598c0831bafa7f50ff576ee77b58fde09c0b6d6061ba08bb555c87ba3e',1.70000003628126502034e+09);
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
INSERT INTO "trainings" VALUES(1,'good',1.70000002355318665511e+09,1.70000002424029898642e+09,0,1,NULL,'{"answers": 0, "f1": {"answers": 0, "f1": null, "low": null, "high": null, "items": 0, "entries": 0, "found": 0, "needed": 20}}');
INSERT INTO "trainings" VALUES(2,'good',1.70000002646007561685e+09,1.70000002676788306236e+09,31,6,NULL,'{"answers": 18, "base_rates": {"left": {"rate": 0.9166666666666666, "low": 0.6942544153110504, "high": 0.9996260029721623}, "l\u00f3w; \"2\"": {"rate": 0.35714285714285715, "low": 0.10427052332745364, "high": 0.6591979682991529}, "far away": {"rate": 0.6428571428571429, "low": 0.340802031700847, "high": 0.8957294766725463}}, "labels": {"1": [10, 1, 2, null], "2": [3, 9, 0, 1.0], "3": [10, 6, 0, 1.0], "6": [1, 4, 0, null]}, "pairs": [["ann", "bob", 14, 14, 1.0], ["ann", "dan", 2, 2, 1.0], ["bob", "dan", 2, 2, 1.0]], "f1": {"answers": 18, "f1": null, "low": null, "high": null, "items": 6, "entries": 17, "found": 11, "needed": 20}, "calibration": null, "standing": {"over_random": null, "saved": null, "per_doubling": null, "advice": "go on: 6 random items say little, 20 are needed to judge by"}, "forecast": null, "exhausted": true}');
CREATE TABLE users (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	removed_at DOUBLE, 
	PRIMARY KEY (name)
);
INSERT INTO "users" VALUES('ann','annotator',1.70000003621706938751e+09,NULL);
INSERT INTO "users" VALUES('eve','admin',1.7000000362625892163e+09,NULL);
CREATE INDEX events_of_a_person ON events (item, who);
CREATE INDEX events_by_person ON events (who, id);
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
INSERT INTO "sqlite_sequence" VALUES('events',34);
COMMIT;
